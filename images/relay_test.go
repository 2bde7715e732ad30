package images

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestRelayHandsOnAllThatIsWritten(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var out, want bytes.Buffer
		r := newRelay(&out, make([]byte, rapid.IntRange(1, 64).Draw(rt, "buffer")))
		for _, piece := range rapid.SliceOf(rapid.SliceOf(rapid.Byte())).Draw(rt, "pieces") {
			want.Write(piece)
			if n, err := r.Write(piece); n != len(piece) || err != nil {
				rt.Fatalf("Write of %d bytes: got %d, %v", len(piece), n, err)
			}
		}
		for range 2 {
			if err := r.Close(); err != nil {
				rt.Fatalf("Close: %v", err)
			}
		}
		if !bytes.Equal(out.Bytes(), want.Bytes()) {
			rt.Fatalf("got %q, want %q", out.Bytes(), want.Bytes())
		}
	})
}

// full takes so many bytes and no more.
type full struct{ left int }

var errFull = errors.New("no space left")

func (f *full) Write(p []byte) (int, error) {
	if len(p) > f.left {
		return 0, errFull
	}
	f.left -= len(p)
	return len(p), nil
}

func TestRelayTellsTheWriterWhatFailed(t *testing.T) {
	r := newRelay(&full{left: 100}, make([]byte, 64))
	var err error
	for range 1000 {
		if _, err = r.Write(make([]byte, 10)); err != nil {
			break
		}
	}
	if !errors.Is(err, errFull) {
		t.Errorf("Write after the other side failed: got %v", err)
	}
	if err := r.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: got %v", err)
	}
}
