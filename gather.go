package rondo

import "context"

// Gather runs the functions in a task each, and returns their results in the
// order of the arguments when all have ended. The first to fail cancels the
// rest, and Gather returns the errors as Group does, and no results.
func Gather[T any](ctx context.Context, fns ...func(ctx context.Context) (T, error)) ([]T, error) {
	results := make([]T, len(fns))
	err := Group(ctx, func(g *Scope) error {
		for i, fn := range fns {
			g.Go(func(ctx context.Context) (err error) {
				results[i], err = fn(ctx)
				return err
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, nil
}
