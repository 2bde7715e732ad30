package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

const (
	maxContext  = 8 << 20
	maxManifest = 1 << 20
)

// source reads files of a workspace and remembers what was made of them.
type source struct {
	fsys fs.FS
	memo Memo // may be nil
}

// content reads a file whole. Its kind and size are known before it is opened:
// opening a pipe would wait for a writer, reading a device would not end.
func (s *source) content(path string, limit int64) ([]byte, error) {
	info, err := fs.Stat(s.fsys, path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("expected a file, found %s", describeMode(info.Mode()))
	case info.Size() > limit:
		return nil, tooLarge(limit)
	}
	file, err := s.fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge(limit)
	}
	return data, err
}

func tooLarge(limit int64) error {
	return fmt.Errorf("expected a file of %d MiB at most, found a larger one", limit>>20)
}

func describeMode(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	default:
		return "something else"
	}
}

// recall fills what visit names from the memo of a file, if there is one.
func (s *source) recall(path, schema string, visit func(*codec)) bool {
	if s.memo == nil {
		return false
	}
	data := s.memo.Recall(path)
	return data != nil && decode(schema, data, visit)
}

func (s *source) keep(path, schema string, content []byte, visit func(*codec)) {
	if s.memo != nil {
		s.memo.Keep(path, content, encode(schema, visit))
	}
}

// unreachable reports a file that could not be read, without the path that the
// system's error carries: the position has it.
func (r *reader) unreachable(err error, missing string) {
	one := &Error{Position: Position{File: r.File()}}
	var wrapped *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		one.Msg = missing
	case errors.As(err, &wrapped):
		one.Msg = wrapped.Err.Error() + ", expected a file that can be read"
	default:
		one.Msg = err.Error()
	}
	r.Report(one)
}
