// Package conformance shows, one test each, the behaviours that people who come
// from asyncio, trio and anyio rely on. A test is named after its number in
// docs/CONFORMANCE.md. It uses only what Rondo exports.
package conformance
