// Package libraries has the programs of docs/INTEROP.md: how a task uses databases, gRPC, Kafka,
// telemetry and logs. Each is short, to be copied, and is tested against the real thing.
package libraries
