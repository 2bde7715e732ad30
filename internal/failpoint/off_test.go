//go:build !failpoint

package failpoint_test

import (
	"testing"

	"toa.io/toa/internal/failpoint"
)

// Without the build tag nobody can make a run fail.
func TestOrdinaryBinariesHaveNone(t *testing.T) {
	t.Setenv("TOA_FAILPOINTS", "manifest.put=panic")
	if err := failpoint.At(failpoint.ManifestPut); err != nil {
		t.Errorf("At = %v, want nil", err)
	}
}
