package images_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"toa.io/toa/images"
)

// limit makes a registry refuse bodies above a size, and say how small pieces
// may be where that is not empty. It returns how many pieces it took.
func (r *registry) limit(most int64, least string) *atomic.Int64 {
	pieces := &atomic.Int64{}
	r.intercept(func(w http.ResponseWriter, req *http.Request) bool {
		if least != "" && req.Method == http.MethodPost {
			w.Header().Set("OCI-Chunk-Min-Length", least)
		}
		if req.ContentLength > most {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return true
		}
		if req.Method == http.MethodPatch {
			pieces.Add(1)
		}
		return false
	})
	return pieces
}

// A layer of 2 MiB is too large for a proxy in front of the registry.
// GoogleContainerTools/kaniko#2978
func TestLayerThatIsTooLargeGoesInPieces(t *testing.T) {
	for name, row := range map[string]struct {
		most    int64
		least   string
		patches int64
	}{
		"of half a MiB":                {1 << 20, "", 5},
		"as large as is asked for":     {1 << 20, "1000000", 3},
		"a quarter is small enough":    {2 << 20, "", 2},
		"what is asked for is no size": {1 << 20, "many", 5},
	} {
		t.Run(name, func(t *testing.T) {
			reg := newRegistry(t)
			pieces := reg.limit(row.most, row.least)
			b := newBench(t, t.TempDir())
			times, err := pushLarge(t, reg, b)
			if err != nil || times > 1.01 {
				t.Errorf("%v; the layer was sent %.2f times", err, times)
			}
			same(t, "pieces", pieces.Load(), row.patches)
			same(t, "the size is counted once", b.remote.Traffic().Bytes < 3<<20, true)
		})
	}
}

func TestLayerThatIsTooLargeInPiecesIsAnError(t *testing.T) {
	reg := newRegistry(t)
	reg.limit(100_000, "")
	_, err := pushLarge(t, reg, newBench(t, t.TempDir()))
	var large *images.TooLargeError
	if !errors.As(err, &large) || large.Size < 2<<20 || !strings.Contains(large.Hint(), "in front of "+large.Host) {
		t.Errorf("Publish: %v, want one that says how large the layer is and who is in the way", err)
	}
}
