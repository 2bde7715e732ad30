package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"toa.io/toa/internal/failpoint"
)

// patience is how long a process that claims something may give no sign of
// life; beat is how often it gives one, look how often who waits looks, and
// worthTelling how long somebody waits in silence.
const (
	patience     = 10 * time.Second
	beat         = time.Second
	look         = 50 * time.Millisecond
	worthTelling = time.Second
)

// Claims let one process of a machine at a time work on what a name stands for,
// so that who waited finds it done. They save work and guard nothing: where a
// claim cannot be had, or its holder is stopped, both work. Calls overlap.
type Claims struct {
	// Dir holds a file for each name that is being worked on. Its lock is the
	// claim, so one whose process has died is none.
	Dir string
	// Patience is how long Take waits for a holder that gives no sign of life.
	// Zero means ten seconds.
	Patience time.Duration
}

// Take returns what ends the claim once no other process works on the name, and
// tells whether one did. Say is told what Take waits for. The only error is the
// cause of ctx.
func (c Claims) Take(ctx context.Context, name Key, say func(string)) (release func(), waited bool, err error) {
	path := filepath.Join(c.Dir, name.Tag())
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	w := watch{began: time.Now(), patience: cmp.Or(c.Patience, patience)}
	for ; ; waited = true {
		file, err := TryLock(path)
		if err == nil {
			return hold(file), waited, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return func() {}, waited, nil // nobody can be waited for here
		}
		if w.look(path, time.Now(), say) {
			return func() {}, true, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, true, context.Cause(ctx)
		}
	}
}

// Sweep removes the files of processes that died.
func (c Claims) Sweep(now time.Time) error {
	entries, err := os.ReadDir(c.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("sweep claims: %w", err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || recently(info.ModTime(), now) {
			continue
		}
		if file, err := TryLock(filepath.Join(c.Dir, entry.Name())); err == nil {
			_ = os.Remove(file.Name()) // as who had it would have
			_ = file.Close()
		}
	}
	return nil
}

// hold says who has the claim and gives signs of life until it is released.
func hold(file *os.File) (release func()) {
	sign := func(n int) { _, _ = file.WriteAt(fmt.Appendf(nil, "%d %d\n", os.Getpid(), n), 0) }
	sign(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(beat)
		defer ticker.Stop()
		for n := 1; ; n++ {
			select {
			case <-ticker.C:
				sign(n)
			case <-stop:
				return
			}
		}
	}()
	return func() {
		_ = failpoint.At(failpoint.ClaimRelease)
		close(stop)
		<-stopped
		_ = os.Remove(file.Name())
		_ = file.Close()
	}
}

// watch is what somebody who waits has seen of the holder. Only its own clock
// counts: who holds may have another one.
type watch struct {
	began    time.Time
	patience time.Duration
	told     bool
	sign     string
	since    time.Time // when sign was seen first
}

// look tells whether the holder has given no sign of life for too long.
func (w *watch) look(path string, now time.Time, say func(string)) (stopped bool) {
	data, _ := os.ReadFile(path)
	if sign := string(data); w.since.IsZero() || sign != w.sign {
		w.sign, w.since = sign, now
	}
	if now.Sub(w.since) > w.patience {
		say(fmt.Sprintf("process %s has it in work and does not move: not waiting any more", w.holder()))
		return true
	}
	if !w.told && now.Sub(w.began) > worthTelling {
		w.told = true
		say(fmt.Sprintf("process %s has it in work: waiting", w.holder()))
	}
	return false
}

func (w *watch) holder() string {
	pid, _, _ := strings.Cut(w.sign, " ")
	if pid == "" {
		return "(unknown)" // it has not said yet
	}
	return pid
}
