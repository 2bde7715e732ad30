package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// A blob is sent whole, which takes the fewest requests. Where that is too much
// for a proxy in front of the registry it goes in pieces, of a quarter each time
// that they are too large: nginx takes 1 MiB unless it is told otherwise, others
// take 100.
const (
	largestPiece  = 8 << 20
	smallestPiece = 512 << 10
)

// chunkMinLength is how small pieces may be but for the last one, in bytes, if
// the registry says so:
// https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#pushing-a-blob-in-chunks
const chunkMinLength = "OCI-Chunk-Min-Length"

func isTooLarge(err error) bool {
	var answer *RegistryError
	return errors.As(err, &answer) && answer.Status == http.StatusRequestEntityTooLarge
}

// inPieces uploads a blob that is too large for one request.
func (r *repository) inPieces(ctx context.Context, c content) error {
	for size := int64(largestPiece); size >= smallestPiece; size /= 4 {
		if size >= c.Size {
			continue // as large as what was refused
		}
		err := r.persist(ctx, func() error { return r.pieces(ctx, c, size) })
		if !isTooLarge(err) {
			return err
		}
	}
	return &TooLargeError{Host: r.registry.RegistryStr(), Size: c.Size}
}

func (r *repository) pieces(ctx context.Context, c content, size int64) error {
	said, err := r.ask(ctx, call{method: http.MethodPost, path: "blobs/uploads/"}, http.StatusAccepted)
	if err != nil {
		return err
	}
	session, err := r.location(said)
	if err != nil {
		return err
	}
	if least, err := strconv.ParseInt(said.header.Get(chunkMinLength), 10, 64); err == nil {
		size = min(max(size, least), largestPiece)
	}
	body, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	for at := int64(0); at < c.Size; at += size {
		if session, err = r.piece(ctx, session, body, at, min(size, c.Size-at)); err != nil {
			return err
		}
	}
	_, err = r.ask(ctx, call{
		method: http.MethodPut,
		url:    session,
		query:  url.Values{"digest": {c.Digest.String()}},
		once:   true,
	}, http.StatusCreated, http.StatusNoContent, http.StatusOK)
	return err
}

// piece sends the next bytes of a blob and returns where those after it go.
func (r *repository) piece(ctx context.Context, session *url.URL, from io.Reader, at, size int64) (*url.URL, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(from, data); err != nil {
		return nil, err
	}
	said, err := r.ask(ctx, call{
		method: http.MethodPatch,
		url:    session,
		header: http.Header{
			"Content-Type":  {"application/octet-stream"},
			"Content-Range": {fmt.Sprintf("%d-%d", at, at+size-1)},
		},
		body: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil },
		size: size,
		once: true,
	}, http.StatusAccepted)
	if err != nil {
		return nil, err
	}
	r.client.bytes.Add(size)
	return r.location(said)
}
