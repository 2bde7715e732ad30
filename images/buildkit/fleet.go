package buildkit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
)

// fleet is the engines of a run. Images go to the one that suits their platform
// best, of those to the one with the least to do.
type fleet struct {
	mu  sync.Mutex // guards all and what the engines say of themselves
	all []*engine
}

// engine is one of them.
type engine struct {
	address Address

	asking sync.Mutex // held while it is asked
	asked  bool
	// platforms are those it has, native ones first; err is why it is of no use.
	platforms []string
	err       error

	jobs int // running there; guarded by the fleet
}

// engines are those of addresses, the same ones on each call.
func (f *fleet) engines(addresses string) ([]*engine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.all == nil {
		parsed, err := ParseAddresses(addresses)
		if err != nil {
			return nil, err
		}
		for _, a := range parsed {
			f.all = append(f.all, &engine{address: a})
		}
	}
	return f.all, nil
}

// ask finds out once what an engine is.
func (e *engine) ask(ctx context.Context) error {
	e.asking.Lock()
	defer e.asking.Unlock()
	if e.asked {
		return e.err
	}
	e.platforms, e.err = probe(ctx, e.address)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	e.asked = true
	return e.err
}

// How an engine suits a platform, the best first.
const (
	native   = iota // its processor is of it
	emulated        // it can run it
	foreign         // it can only copy files
)

func (e *engine) suits(platform string) int {
	at := slices.Index(e.platforms, normal(platform))
	switch {
	case at < 0:
		return foreign
	case at == 0 || len(e.address.Platforms) > 0:
		return native
	default:
		return emulated
	}
}

// take picks the engine for a platform. Runs says that something runs in the
// image. The caller calls release when it is done there.
func (f *fleet) take(ctx context.Context, engines []*engine, platform string, runs bool) (picked *engine, release func(), err error) {
	usable, err := answering(ctx, engines)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	picked = slices.MinFunc(usable, func(a, b *engine) int {
		if fit := a.suits(platform) - b.suits(platform); fit != 0 {
			return fit
		}
		return a.jobs - b.jobs
	})
	if runs && picked.suits(platform) == foreign {
		return nil, nil, &NoEngineError{Platform: platform, Engines: describe(usable)}
	}
	picked.jobs++
	return picked, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		picked.jobs--
	}, nil
}

// answering are the engines that can be used. It is an error if there is none.
func answering(ctx context.Context, engines []*engine) ([]*engine, error) {
	errs := make([]error, len(engines))
	var group sync.WaitGroup
	for i, e := range engines {
		group.Go(func() { errs[i] = e.ask(ctx) })
	}
	group.Wait()
	var usable []*engine
	for i, e := range engines {
		if errs[i] == nil {
			usable = append(usable, e)
		}
	}
	switch {
	case len(usable) > 0:
		return usable, nil
	case len(errs) == 1:
		return nil, errs[0]
	default:
		return nil, errors.Join(errs...)
	}
}

// describe says what engines have, for messages.
func describe(engines []*engine) []string {
	var all []string
	for _, e := range engines {
		all = append(all, e.address.URL+" has "+strings.Join(e.platforms, ", "))
	}
	return all
}
