package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"time"

	"toa.io/toa/chart"
)

// Pack writes a chart as a gzipped tar whose top directory is the chart's name.
// Nothing in it but names and bytes comes from outside: entries are sorted and
// have fixed modes, no owner and no time.
func Pack(c *chart.Chart) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range sorted(c.Files) {
		if err := add(archive, c.Name+"/"+file.Path, file.Data); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func sorted(files []chart.File) []chart.File {
	return slices.SortedFunc(slices.Values(files), func(a, b chart.File) int {
		return strings.Compare(a.Path, b.Path)
	})
}

func add(archive *tar.Writer, path string, data []byte) error {
	err := archive.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     path,
		Size:     int64(len(data)),
		Mode:     0o644,
		ModTime:  time.Unix(0, 0),
		Format:   tar.FormatUSTAR,
	})
	if err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}
