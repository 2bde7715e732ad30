package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// sample is what one run of a program cost.
type sample struct {
	wall time.Duration
	cpu  time.Duration // user and system
	rss  int64         // peak, in bytes; never below this process's own, which the child begins as
	// requests a registry got, or -1 where none is watched.
	requests int
}

// side is one of the two programs of a case.
type side struct {
	name string
	// prepare makes run i ready; its time does not count. Nil for nothing.
	prepare func(i int) error
	command func(i int) *exec.Cmd
	// timed says that the program prints what it has measured of its work
	// without what it needed before: wall and processor time in nanoseconds, and
	// requests.
	timed bool
}

// interleave runs the sides by turns, once to warm up and then runs times.
func interleave(ctx context.Context, runs int, watch func(context.Context) (int, error), sides ...side) ([][]sample, error) {
	samples := make([][]sample, len(sides))
	for i := range runs + 1 {
		for n, s := range sides {
			taken, err := s.run(i)
			if err != nil {
				return nil, err
			}
			seen, err := watch(ctx)
			if err != nil {
				return nil, err
			}
			if !s.timed {
				taken.requests = seen
			}
			if i > 0 {
				samples[n] = append(samples[n], taken)
			}
		}
	}
	return samples, nil
}

func (s side) run(i int) (sample, error) {
	if s.prepare != nil {
		if err := s.prepare(i); err != nil {
			return sample{}, err
		}
	}
	cmd := s.command(i)
	var stdout, stderr tail
	cmd.Stderr = &stderr
	if s.timed {
		cmd.Stdout = &stdout
	}
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("run %s: %w\n%s", s.name, err, stderr)
	}
	wall := time.Since(start)
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	taken := sample{
		wall: wall,
		cpu:  cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(),
		rss:  used.Maxrss * rssUnit,
	}
	if !s.timed {
		return taken, nil
	}
	if _, err := fmt.Sscan(string(stdout), &taken.wall, &taken.cpu, &taken.requests); err != nil {
		return sample{}, fmt.Errorf("read what %s measured: %w", s.name, err)
	}
	return taken, nil
}

// unwatched is a case without a registry.
func unwatched(context.Context) (int, error) { return -1, nil }

// middle is the median of each figure by itself.
func middle(samples []sample) sample {
	return sample{
		wall:     median(samples, func(s sample) time.Duration { return s.wall }),
		cpu:      median(samples, func(s sample) time.Duration { return s.cpu }),
		rss:      median(samples, func(s sample) int64 { return s.rss }),
		requests: median(samples, func(s sample) int { return s.requests }),
	}
}

func median[T int | int64 | time.Duration](samples []sample, of func(sample) T) T {
	values := make([]T, len(samples))
	for i, s := range samples {
		values[i] = of(s)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	*t = append(*t, p...)
	if len(*t) > most {
		*t = (*t)[len(*t)-most:]
	}
	return len(p), nil
}
