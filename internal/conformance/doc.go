// Package conformance shows, one test each, the behaviours that people who come
// from asyncio, trio and anyio rely on. The comment at a test says the behaviour,
// and what is different elsewhere. The number in its name only tells it from
// others. It uses only what Rondo exports.
package conformance
