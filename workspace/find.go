package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"toa.io/toa/document"
)

// NotFoundError says that no directory from Start upwards holds a context.
type NotFoundError struct{ Start string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no %s in %s or above", ContextFile, document.Printable(e.Start))
}

// Hint is how to mend it.
func (e *NotFoundError) Hint() string {
	return "run inside a workspace, or name one with --path"
}

// Mistake is true: it is found before anything is touched.
func (*NotFoundError) Mistake() bool { return true }

// Find walks up from start to the first directory that holds a context and
// returns its absolute path, or a *NotFoundError.
func Find(start string) (root string, err error) {
	dir, err := filepath.Abs(start)
	if err != nil {
		return "", fmt.Errorf("find workspace: %w", err)
	}
	for {
		_, err := os.Stat(filepath.Join(dir, ContextFile))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("find workspace: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", &NotFoundError{Start: start}
		}
		dir = parent
	}
}
