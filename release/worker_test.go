package release

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"toa.io/toa/orchestrator"
)

// scripted is a worker whose child is a script. The order is its first line of input.
func scripted(script string) Worker {
	return Worker{Command: []string{"/bin/sh", "-c", script}}
}

func order() Order {
	return Order{Format: OrderFormat, Target: Target{Context: "c", Name: "shop"}, Inputs: "ff", Timeout: time.Minute, History: 1}
}

func TestWorkerPassesOnWhatTheChildSays(t *testing.T) {
	w := scripted(`read -r order
		case "$order" in *'"format":"` + OrderFormat + `"'*'"name":"shop"'*) ;; *) exit 9;; esac
		echo '{"notice":"hello"}'
		echo '{"rollout":[{"kind":"Deployment","name":"a","ready":1,"desired":2}]}'
		echo '{"evidence":["pod a: crashed"]}'
		echo '{"result":{"Status":"applied","Revision":7}}'`)
	var events []orchestrator.Event
	w.Observe = func(e orchestrator.Event) { events = append(events, e) }
	made, err := w.Run(t.Context(), order())
	if err != nil || made.Revision != 7 || made.Status != orchestrator.ReleaseApplied {
		t.Errorf("Run = %+v, %v, want revision 7 applied", made, err)
	}
	want := []orchestrator.Event{
		orchestrator.NoticeEvent{Text: "hello"},
		orchestrator.RolloutEvent{Workloads: []orchestrator.Workload{{Kind: "Deployment", Name: "a", Ready: 1, Desired: 2}}},
		orchestrator.NoticeEvent{Text: "pod a: crashed"},
	}
	if !reflect.DeepEqual(events, want) {
		t.Errorf("events are %v, want %v", events, want)
	}
}

func TestWorkerFailures(t *testing.T) {
	tests := map[string]struct{ script, message, settled string }{
		"the child's own word": {`echo '{"failure":{"message":"no quota","hint":"ask","settled":"rolled back to revision 3"}}'`, "no quota", "rolled back to revision 3"},
		"its word and a crash": {`echo '{"failure":{"message":"no quota","settled":"x"}}'; exit 4`, "no quota", "x"},
		"a crash":              {`echo a panic >&2; exit 3`, "exit status 3", "not settled"},
		"what a crash says":    {`echo a panic >&2; exit 3`, "a panic", "not settled"},
		"silence":              {`read -r order`, "did not say", "not settled"},
		"not the protocol":     {`echo hello`, "invalid character", "not settled"},
		"killed":               {`kill -9 $$`, "killed", "not settled"},
		"only the last said":   {`head -c 100000 /dev/zero | tr '\0' a >&2; echo the end >&2; exit 1`, "the end", "not settled"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			made, err := scripted(test.script).Run(t.Context(), order())
			var failure *Failure
			if !errors.As(err, &failure) {
				t.Fatalf("Run = %+v, %v, want a failure", made, err)
			}
			if !strings.Contains(failure.Message, test.message) || failure.Settled != test.settled {
				t.Errorf("failure is %q, settled %q, want %q, %q", failure.Message, failure.Settled, test.message, test.settled)
			}
			if len(failure.Message) > 2*maxSaid {
				t.Errorf("message has %d bytes", len(failure.Message))
			}
		})
	}
}

func TestWorkerThatIsNotThere(t *testing.T) {
	_, err := Worker{Command: []string{filepath.Join(t.TempDir(), "none")}}.Run(t.Context(), order())
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Run = %v, want that the command does not exist", err)
	}
}

// A release that is stopped is settled by its child, and that is told.
func TestStoppedWorkerSettles(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := scripted(`trap 'echo "{\"failure\":{\"message\":\"stopped\",\"settled\":\"rolled back\"}}"; exit 0' TERM
		echo '{"notice":"ready"}'; while :; do sleep 0.01; done`)
	w.Observe = func(orchestrator.Event) { cancel() }
	_, err := w.Run(ctx, order())
	var failure *Failure
	if !errors.As(err, &failure) || failure.Settled != "rolled back" {
		t.Errorf("Run = %v, want that it was rolled back", err)
	}
}

// A child that does not settle in time is killed with all that it started.
func TestWorkerThatDoesNotSettleIsKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := scripted(`trap '' TERM; sleep 600 & echo "{\"notice\":\"$!\"}"; wait; sleep 600`)
	w.limit = 50 * time.Millisecond
	var once sync.Once
	var grandchild int
	w.Observe = func(e orchestrator.Event) {
		once.Do(func() {
			grandchild, _ = strconv.Atoi(e.(orchestrator.NoticeEvent).Text)
			cancel()
		})
	}
	_, err := w.Run(ctx, order())
	var failure *Failure
	if !errors.As(err, &failure) || failure.Settled != "not settled" || failure.Hint() == "" {
		t.Errorf("Run = %v, want that it is not settled, with a hint", err)
	}
	for deadline := time.Now().Add(time.Minute); !zombie(t, grandchild); { // a signal takes its time
		if time.Now().After(deadline) {
			t.Fatalf("process %d, which the child had started, is alive", grandchild)
		}
	}
}

// zombie tells a process that has ended and was not waited for.
func zombie(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// The child hears of its parent's death: its input ends, not before.
func TestInputStaysOpenUntilTheChildEnds(t *testing.T) {
	w := scripted(`read -r order; if timeout 0.1 cat >/dev/null; then echo '{"failure":{"message":"input ended"}}'; else echo '{"result":{"Revision":1}}'; fi`)
	if _, err := w.Run(t.Context(), order()); err != nil {
		t.Errorf("Run = %v", err)
	}
}
