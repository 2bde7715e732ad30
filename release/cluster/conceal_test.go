package cluster

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestConcealMergesAndRevealShows(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	if pairs, err := b.Reveal(t.Context(), "amqp"); err != nil || pairs != nil {
		t.Errorf("Reveal = %v, %v, want nothing", pairs, err)
	}
	for _, pairs := range []map[string][]byte{
		{"username": []byte("u"), "password": []byte("p=a=ss\n\x00")},
		{"username": []byte("another")},
	} {
		if err := b.Conceal(t.Context(), "amqp", pairs); err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Reveal(t.Context(), "amqp")
	want := map[string][]byte{"username": []byte("another"), "password": []byte("p=a=ss\n\x00")}
	if err != nil || !maps.EqualFunc(got, want, slices.Equal[[]byte]) {
		t.Errorf("Reveal = %q, %v, want %q", got, err, want)
	}
}

func TestConcealLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	var group sync.WaitGroup
	for i := range 10 {
		group.Go(func() {
			key := string(rune('a' + i))
			if err := b.Conceal(t.Context(), "many", map[string][]byte{key: []byte(key)}); err != nil {
				t.Errorf("Conceal %s: %v", key, err)
			}
		})
	}
	group.Wait()
	if got, err := b.Reveal(t.Context(), "many"); err != nil || len(got) != 10 {
		t.Errorf("Reveal = %d keys, %v, want 10", len(got), err)
	}
}

// An error of Conceal is printed: it names keys and no values.
func TestConcealKeepsValuesOutOfErrors(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	err := b.Conceal(t.Context(), "amqp", map[string][]byte{"no key": []byte("hunter2")})
	if err == nil || !strings.Contains(err.Error(), "no key") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Conceal = %v, want an error that names the key only", err)
	}
}
