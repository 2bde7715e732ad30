package cluster

import (
	"errors"
	"fmt"
	"testing"
)

// What a child's error is does not get lost on its way to the parent.
func TestFailureKeepsWhatAnErrorIs(t *testing.T) {
	refused := errors.New("refused")
	for name, row := range map[string]struct {
		err     error
		mistake bool
		hinted  bool
		message string
		settled string
	}{
		"a plain error":       {err: refused, message: "refused"},
		"a wrong context":     {err: fmt.Errorf("open: %w", &ContextError{Context: "prod", Err: refused}), mistake: true, hinted: true, message: `open: kubeconfig context "prod": refused`},
		"a missing namespace": {err: &NamespaceError{Namespace: "shop"}, mistake: true, hinted: true, message: `namespace "shop" is not there`},
		"no such revision":    {err: &NoRevisionError{Stated: 7}, mistake: true, hinted: true, message: (&NoRevisionError{Stated: 7}).Error()},
		"another holder":      {err: &HeldError{Release: "shop", Holder: "ci"}, hinted: true, message: (&HeldError{Release: "shop", Holder: "ci"}).Error()},
		"a settled release":   {err: &SettledError{Err: refused, Settled: "rolled back"}, message: "refused", settled: "rolled back"},
	} {
		got := failure(row.err)
		if got.Message != row.message || got.Settled != row.settled || got.Mistake() != row.mistake || (got.Advice != "") != row.hinted {
			t.Errorf("%s: failure = %+v, want %+v", name, *got, row)
		}
	}
}
