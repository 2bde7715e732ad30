package buildkit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toa.io/toa/images/buildkit"
	"toa.io/toa/internal/enginetest"
)

// An engine whose disk is full says so, and whose files it was too much for
// need not be found out from a log.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	b := newBenchAt(t, enginetest.StartSmall(t, 24<<20).Address)
	t.Run("a line", func(t *testing.T) {
		_, err := b.builder.Build(t.Context(), b.dependencies(t, "line", "i=0; while cp /bin/busybox /copy$i; do i=$((i+1)); done; exit 1"), nil)
		var failed *buildkit.RunError
		if !errors.As(err, &failed) || !strings.Contains(hint(err), "no space left") {
			t.Errorf("Build: %v (hint %q), want a *RunError that tells of the disk", err, hint(err))
		}
	})
	t.Run("a file", func(t *testing.T) {
		dir := t.TempDir()
		large := filepath.Join(dir, "large.bin")
		if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 64<<20)); err != nil {
			t.Fatal(err)
		}
		_, err := b.builder.Build(t.Context(), b.composition(t, "file", map[string]string{"store-goods": dir}), nil)
		var full *buildkit.DiskFullError
		if !errors.As(err, &full) || hint(err) == "" {
			t.Errorf("Build: %v (hint %q), want a *DiskFullError", err, hint(err))
		}
	})
}
