// Package corpus keeps what fuzzing found worth keeping, one text file a fuzz
// target: testdata/corpus/<target>.txtar. `go test` runs it as seeds, so that
// what was learnt in hours is tried again in seconds.
//
// Its files hold the encoding of cmd/go's own corpora (go.dev/doc/security/fuzz).
package corpus

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

const header = "go test fuzz v1"

// Add adds the inputs that are kept for the target. They must be of the types
// that its function takes.
func Add(f *testing.F) {
	f.Helper()
	path := filepath.Join("testdata", "corpus", f.Name()+".txtar")
	data, err := os.ReadFile(path)
	if err != nil {
		f.Fatalf("read what fuzzing found: %v", err)
	}
	for _, file := range txtar.Parse(data).Files {
		args, err := Decode(string(file.Data))
		if err != nil {
			f.Fatalf("%s: %s: %v", path, file.Name, err)
		}
		f.Add(args...)
	}
}

// Decode reads one input: a header line, then a line for each argument. It
// knows the types that our targets take: []byte and string.
func Decode(text string) ([]any, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if lines[0] != header {
		return nil, fmt.Errorf("starts with %q: expected %q", lines[0], header)
	}
	var args []any
	for _, line := range lines[1:] {
		kind, rest, _ := strings.Cut(line, "(")
		value, err := strconv.Unquote(strings.TrimSuffix(rest, ")"))
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", line, err)
		}
		switch kind {
		case "[]byte":
			args = append(args, []byte(value))
		case "string":
			args = append(args, value)
		default:
			return nil, fmt.Errorf("argument of type %s: expected []byte or string", kind)
		}
	}
	return args, nil
}
