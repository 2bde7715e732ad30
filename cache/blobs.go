package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"toa.io/toa/internal/failpoint"
)

// MaxBlob bounds blobs that are read whole: manifests and image configs.
const MaxBlob = 4 << 20

// ErrDamaged says that content is not what its digest says.
var ErrDamaged = errors.New("content does not match its digest")

// Layer is a finished image layer.
type Layer struct {
	// Digest is "sha256:…" of the compressed layer, DiffID of the tar in it.
	Digest, DiffID string
	// Size is that of the compressed layer.
	Size int64
}

// Blobs keeps content by its SHA-256 digest in a directory, and remembers which
// layer was made of which inputs. Calls overlap, and so may processes: every
// file appears whole, by renaming. What is damaged counts as absent.
type Blobs struct{ dir string }

// OpenBlobs makes the directories, for this user only.
func OpenBlobs(dir string) (*Blobs, error) {
	b := &Blobs{dir: dir}
	for _, sub := range []string{b.contents(), b.layers(), b.temporary()} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return nil, fmt.Errorf("open layer cache: %w", err)
		}
	}
	b.sweep(time.Now())
	return b, nil
}

func (b *Blobs) contents() string  { return filepath.Join(b.dir, "blobs", "sha256") }
func (b *Blobs) layers() string    { return filepath.Join(b.dir, "layers") }
func (b *Blobs) temporary() string { return filepath.Join(b.dir, "tmp") }

// Temp is an empty directory of its own, for this user only; the caller removes it.
func (b *Blobs) Temp(purpose string) (string, error) {
	return os.MkdirTemp(b.temporary(), purpose+"-")
}

// Path is where the content of digest is, if it is there.
func (b *Blobs) Path(digest string) (string, error) {
	sum, ok := sha256Hex(digest)
	if !ok {
		return "", fmt.Errorf("digest %q is not sha256: and 64 hex digits", digest)
	}
	return filepath.Join(b.contents(), sum), nil
}

func sha256Hex(digest string) (string, bool) {
	sum, ok := strings.CutPrefix(digest, "sha256:")
	if !ok || len(sum) != 2*sha256.Size || strings.Trim(sum, "0123456789abcdef") != "" {
		return "", false
	}
	return sum, true
}

// Has tells whether content of that digest and size is there. It does not read it.
func (b *Blobs) Has(digest string, size int64) bool {
	path, err := b.Path(digest)
	if err != nil {
		return false
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == size
}

// Layer returns the layer that was put under key if its content is still
// there, or ErrNotFound.
func (b *Blobs) Layer(key Key) (Layer, error) {
	record, err := os.ReadFile(filepath.Join(b.layers(), key.String()))
	if err != nil {
		return Layer{}, ErrNotFound
	}
	layer, err := decodeLayer(key, record)
	if err != nil || !b.Has(layer.Digest, layer.Size) {
		return Layer{}, ErrNotFound
	}
	b.use(layer.Digest)
	return layer, nil
}

// PutLayer remembers that key's inputs give layer.
func (b *Blobs) PutLayer(key Key, layer Layer) error {
	w, err := b.Create()
	if err != nil {
		return err
	}
	defer w.Abort()
	if _, err := w.Write(encodeLayer(key, layer)); err != nil {
		return err
	}
	return w.rename(filepath.Join(b.layers(), key.String()))
}

func encodeLayer(key Key, layer Layer) []byte {
	var p packer
	p.string("layer/v1")
	p.string(layer.Digest)
	p.string(layer.DiffID)
	p.int(layer.Size)
	return seal(key[:], p.buf)
}

func decodeLayer(key Key, record []byte) (Layer, error) {
	payload, err := unseal(key[:], record)
	if err != nil {
		return Layer{}, err
	}
	u := unpacker{buf: payload}
	version := u.string()
	layer := Layer{Digest: u.string(), DiffID: u.string(), Size: u.int()}
	_, digest := sha256Hex(layer.Digest)
	_, diffID := sha256Hex(layer.DiffID)
	if u.bad || len(u.buf) > 0 || version != "layer/v1" || !digest || !diffID || layer.Size < 0 {
		return Layer{}, errRecord
	}
	return layer, nil
}

// Open reads the content of digest, or returns ErrNotFound. Reading ends with
// ErrDamaged where the content is not what it should be; it is then removed, so
// that the next Open returns ErrNotFound.
func (b *Blobs) Open(digest string) (io.ReadCloser, error) {
	path, err := b.Path(digest)
	if err != nil {
		return nil, err
	}
	r, err := openBlob(path, digest)
	if err == nil {
		b.use(digest)
	}
	return r, err
}

func openBlob(path, digest string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &blobReader{Reader: Verify(file, digest, info.Size()), file: file}, nil
}

type blobReader struct {
	io.Reader
	file *os.File
}

func (r *blobReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if errors.Is(err, ErrDamaged) {
		_ = os.Remove(r.file.Name())
	}
	return n, err
}

func (r *blobReader) Close() error { return r.file.Close() }

// Bytes is the whole content of digest, or ErrNotFound; it is for small
// content, up to MaxBlob.
func (b *Blobs) Bytes(digest string) ([]byte, error) {
	r, err := b.Open(digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, MaxBlob+1))
	switch {
	case errors.Is(err, ErrDamaged):
		return nil, ErrNotFound
	case err != nil:
		return nil, err
	case len(data) > MaxBlob:
		return nil, fmt.Errorf("content %s is larger than %d MiB", digest, MaxBlob>>20)
	}
	return data, nil
}

// Keep stores small content and returns its digest.
func (b *Blobs) Keep(data []byte) (string, error) {
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	if b.Has(digest, int64(len(data))) {
		return digest, nil
	}
	w, err := b.Create()
	if err != nil {
		return "", err
	}
	defer w.Abort()
	if _, err := w.Write(data); err != nil {
		return "", err
	}
	return digest, w.Commit(digest)
}

// Create begins new content. The caller calls Commit, or Abort; both is fine.
func (b *Blobs) Create() (*BlobWriter, error) {
	file, err := os.CreateTemp(b.temporary(), "blob-")
	if err != nil {
		return nil, fmt.Errorf("write layer cache: %w", err)
	}
	return &BlobWriter{blobs: b, file: file, sum: sha256.New()}, nil
}

// BlobWriter takes the bytes of one blob.
type BlobWriter struct {
	blobs *Blobs
	file  *os.File
	sum   hash.Hash
	size  int64
	ended bool
}

func (w *BlobWriter) Write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	w.size += int64(n)
	_, _ = w.sum.Write(p[:n])
	return n, err
}

// Size is how many bytes were written so far.
func (w *BlobWriter) Size() int64 { return w.size }

// Digest is "sha256:…" of what was written so far.
func (w *BlobWriter) Digest() string { return "sha256:" + hex.EncodeToString(w.sum.Sum(nil)) }

// Commit puts the content in its place. It returns ErrDamaged and keeps
// nothing where the digest is not that of what was written.
func (w *BlobWriter) Commit(digest string) error {
	path, err := w.blobs.Path(digest)
	if err != nil {
		return err
	}
	if got := w.Digest(); got != digest {
		return fmt.Errorf("%w: got %s, want %s", ErrDamaged, got, digest)
	}
	return w.rename(path)
}

// Abort drops what was written. After Commit it does nothing.
func (w *BlobWriter) Abort() {
	if w.ended {
		return
	}
	w.ended = true
	_ = w.file.Close()
	_ = os.Remove(w.file.Name())
}

func (w *BlobWriter) rename(path string) error {
	if w.ended {
		return errors.New("blob was ended before")
	}
	if err := w.file.Close(); err != nil {
		w.Abort()
		return fmt.Errorf("write layer cache: %w", err)
	}
	if err := failpoint.At(failpoint.BlobRename); err != nil {
		return err
	}
	if err := os.Rename(w.file.Name(), path); err != nil {
		w.Abort()
		return fmt.Errorf("write layer cache: %w", err)
	}
	w.ended = true
	return failpoint.At(failpoint.BlobRenamed)
}

// abandoned is the age at which something temporary has no process any more.
const abandoned = 24 * time.Hour

// sweep removes what killed processes left in the place for temporary files.
func (b *Blobs) sweep(now time.Time) {
	entries, err := os.ReadDir(b.temporary())
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && now.Sub(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(b.temporary(), entry.Name()))
		}
	}
}

// Verify passes r on. Where r does not end after size bytes, or they do not
// have that digest, reading ends with ErrDamaged, and the last bytes are kept
// back: who reads it never has the whole of something wrong.
func Verify(r io.Reader, digest string, size int64) io.Reader {
	return &verifier{from: r, sum: sha256.New(), digest: digest, left: size}
}

type verifier struct {
	from   io.Reader
	sum    hash.Hash
	digest string
	left   int64
	whole  bool // all bytes have come and are right
}

func (v *verifier) Read(p []byte) (int, error) {
	n, err := v.from.Read(p)
	if int64(n) > v.left {
		return 0, fmt.Errorf("%w: %s is longer than announced", ErrDamaged, v.digest)
	}
	v.left -= int64(n)
	_, _ = v.sum.Write(p[:n])
	switch {
	case err != nil && err != io.EOF, v.whole:
		return n, err
	case v.left > 0 && err == io.EOF:
		return n, fmt.Errorf("%w: %s ends %d bytes early", ErrDamaged, v.digest, v.left)
	case v.left > 0:
		return n, nil
	}
	if got := "sha256:" + hex.EncodeToString(v.sum.Sum(nil)); got != v.digest {
		return 0, fmt.Errorf("%w: got %s, want %s", ErrDamaged, got, v.digest)
	}
	v.whole = true
	return n, err
}
