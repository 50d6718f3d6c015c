//go:build race

package inspect_test

func init() { underRace = true }
