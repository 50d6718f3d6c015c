//go:build race

package httptask_test

func init() { underRace = true }
