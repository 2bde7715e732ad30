package cache

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Verified is what was looked at and what of it was wrong, and is dropped: it is
// found out or made again.
type Verified struct {
	Whole, Damaged int
	// Bytes were read.
	Bytes int64
}

// Verify compares every row with its checksum and drops those that are damaged.
// A file that cannot be read as a database at all is set aside, with a warning,
// and counts as one damaged row.
func (d *DB) Verify() (Verified, error) {
	var v Verified
	err := d.view(func(tx *bbolt.Tx) error {
		v.Bytes = tx.Size()
		return eachRow(tx, func(bucket, name, value []byte) error {
			if spoiled(bucket, name, value) {
				v.Damaged++
			} else {
				v.Whole++
			}
			return nil
		})
	})
	if err == nil && v.Damaged > 0 {
		err = d.rewrite(func(*bbolt.Tx) picker {
			return func(bucket, name, value []byte) bool { return !spoiled(bucket, name, value) }
		})
	}
	switch {
	case errors.Is(err, ErrNotFound):
		err = nil
	case errors.Is(err, errUnavailable) && !d.givenUp():
		v, err = Verified{Damaged: 1}, nil
	case err != nil:
		err = fmt.Errorf("verify %s: %w", d.path, err)
	}
	return v, err
}

func (d *DB) givenUp() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.off
}

// VerifyLayers looks at what is known of finished layers. Those whose content is
// not there count as damaged.
func (b *Blobs) VerifyLayers() (Verified, error) {
	entries, err := os.ReadDir(b.layers())
	if err != nil {
		return Verified{}, fmt.Errorf("read layer cache: %w", err)
	}
	var v Verified
	for _, entry := range entries {
		path := filepath.Join(b.layers(), entry.Name())
		if b.isLayer(path) {
			v.Whole++
			continue
		}
		v.Damaged++
		_ = os.Remove(path) // it is passed over where it stays
	}
	return v, nil
}

func (b *Blobs) isLayer(path string) bool {
	var key Key
	raw, err := hex.DecodeString(filepath.Base(path))
	if err != nil || len(raw) != len(key) {
		return false
	}
	copy(key[:], raw)
	record, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	layer, err := decodeLayer(key, record)
	return err == nil && b.Has(layer.Digest, layer.Size)
}

// VerifyContents reads all content below a directory, which may hold several
// stores (as a directory of OCI image layouts does), each in a directory called
// sha256, and removes what is not what its digest says. Where ctx ends it tells
// what was looked at until then.
func VerifyContents(ctx context.Context, dir string) (Verified, error) {
	var v Verified
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // it may be deleted at any time
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		store, digest := filepath.Base(filepath.Dir(path)), "sha256:"+entry.Name()
		if _, ok := sha256Hex(digest); !ok || !entry.Type().IsRegular() || store != "sha256" {
			return nil
		}
		return v.read(ctx, path, digest)
	})
	if err != nil {
		return v, fmt.Errorf("verify %s: %w", dir, err)
	}
	return v, nil
}

// stretch is how many bytes are read between two looks at whether to stop.
const stretch = 16 << 20

func (v *Verified) read(ctx context.Context, path, digest string) error {
	body, err := openBlob(path, digest)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	for err == nil && ctx.Err() == nil {
		var n int64
		n, err = io.CopyN(io.Discard, body, stretch)
		v.Bytes += n
	}
	switch {
	case errors.Is(err, io.EOF):
		v.Whole++
	case errors.Is(err, ErrDamaged): // reading has removed it
		v.Damaged++
	case err != nil:
		return err
	default:
		return context.Cause(ctx)
	}
	return nil
}
