//go:build !(linux || darwin || freebsd || dragonfly)

package socket

// guardControl returns hook: these systems close nothing for it.
func guardControl[F any](hook F) F { return hook }

func guardControlContext[F any](hook F) F { return hook }
