package graph

import (
	"container/heap"
	"context"
)

// Walk visits every target once, at most limit at a time (limit < 1 means 1),
// never before its dependencies. Among targets that are ready the one with the
// longest path above it goes first.
//
// visit gets the results of the target's dependencies in the order in which
// they were declared, so it needs no lock to share them. The first error
// cancels the context that visits get, and no visit begins after it. Walk
// returns when every visit that began has ended: the results in the order of
// Targets, or the first error.
func Walk[R any](ctx context.Context, g *Graph, limit int, visit func(ctx context.Context, t Target, deps []R) (R, error)) ([]R, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	results := make([]R, len(g.targets))
	missing := make([]int, len(g.targets))
	ready := &queue{height: g.height}
	for i := range g.targets {
		if missing[i] = len(g.needs[i]); missing[i] == 0 {
			heap.Push(ready, i)
		}
	}

	type outcome struct {
		at  int
		err error
	}
	done := make(chan outcome)
	running, first := 0, error(nil)
	for running > 0 || (ready.Len() > 0 && first == nil) {
		for first == nil && ready.Len() > 0 && running < max(limit, 1) {
			if err := context.Cause(ctx); err != nil {
				first = err
				break
			}
			at := heap.Pop(ready).(int)
			running++
			go func() {
				deps := make([]R, len(g.needs[at]))
				for i, need := range g.needs[at] {
					deps[i] = results[need]
				}
				result, err := visit(ctx, g.targets[at], deps)
				if err == nil {
					results[at] = result
				}
				done <- outcome{at, err}
			}()
		}
		if running == 0 {
			break
		}
		end := <-done
		running--
		if end.err != nil {
			if first == nil {
				first = end.err
				cancel(end.err)
			}
			continue
		}
		for _, user := range g.users[end.at] {
			if missing[user]--; missing[user] == 0 {
				heap.Push(ready, user)
			}
		}
	}
	if first != nil {
		return nil, first
	}
	return results, nil
}

// queue is a heap of target positions: highest first, then in graph order.
type queue struct {
	items  []int
	height []int
}

func (q *queue) Len() int { return len(q.items) }

func (q *queue) Less(i, j int) bool {
	a, b := q.items[i], q.items[j]
	if q.height[a] != q.height[b] {
		return q.height[a] > q.height[b]
	}
	return a < b
}

func (q *queue) Swap(i, j int) { q.items[i], q.items[j] = q.items[j], q.items[i] }

func (q *queue) Push(x any) { q.items = append(q.items, x.(int)) }

func (q *queue) Pop() any {
	last := q.items[len(q.items)-1]
	q.items = q.items[:len(q.items)-1]
	return last
}
