package buildkit

import (
	"context"
	"errors"
)

// Reach asks every engine what it is: whether it answers, and is new enough. A
// build goes on with those that are; here each that is not is an error.
func (b *Builder) Reach(ctx context.Context) error {
	engines, err := b.fleet.engines(b.Address)
	if err != nil {
		return err
	}
	failures := make([]error, len(engines))
	for i, one := range engines {
		failures[i] = one.ask(ctx)
	}
	return errors.Join(failures...)
}
