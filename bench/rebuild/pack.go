package main

import (
	"archive/tar"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
)

// level is the one that toa compresses layers with.
const level = 3

// write packs all files of a directory into out, compressed, and into plain as
// they are.
func write(out, plain io.Writer, dir string) error {
	zip, err := gzip.NewWriterLevel(out, level)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(io.MultiWriter(plain, zip))
	err = filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return add(archive, file, path.Join("composition", filepath.Base(dir), filepath.ToSlash(file[len(dir):])))
	})
	return errors.Join(err, archive.Close(), zip.Close())
}

func add(archive *tar.Writer, file, name string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data))}); err != nil {
		return err
	}
	_, err = archive.Write(data)
	return err
}
