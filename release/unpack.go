package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"toa.io/toa/chart"
)

// maxUnpacked bounds a chart in bytes: what the API server keeps of a release
// is much smaller.
const maxUnpacked = 64 << 20

// PackageError is a file that is no package of a chart.
type PackageError struct{ Err error }

func (e *PackageError) Error() string { return "read package: " + e.Err.Error() }
func (e *PackageError) Unwrap() error { return e.Err }

// Mistake is true: it is found before anything is touched.
func (*PackageError) Mistake() bool { return true }

// Unpack reads a package, which anybody may have made. What is wrong with it is
// a *PackageError.
func Unpack(data []byte) (*chart.Chart, error) {
	c, err := unpack(data)
	if err != nil {
		return nil, &PackageError{err}
	}
	return c, nil
}

func unpack(data []byte) (*chart.Chart, error) {
	plain, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	files, err := extract(tar.NewReader(io.LimitReader(plain, maxUnpacked)))
	if err != nil {
		return nil, err
	}
	c := &chart.Chart{Files: sorted(files)}
	about, err := describe(c)
	if err != nil {
		return nil, err
	}
	c.Name, c.Version = about.Name, about.Version
	return c, nil
}

// extract reads the files of an archive, whose one top directory is left out.
func extract(archive *tar.Reader) ([]chart.File, error) {
	var files []chart.File
	seen := map[string]bool{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		_, path, below := strings.Cut(header.Name, "/")
		if header.Typeflag != tar.TypeReg || !below || !fs.ValidPath(path) || seen[path] {
			return nil, fmt.Errorf("entry %q is no file of a chart", header.Name)
		}
		seen[path] = true
		content, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		files = append(files, chart.File{Path: path, Data: content})
	}
}
