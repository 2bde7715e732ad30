package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func TestBothSidesPublishTheFleet(t *testing.T) {
	const images = 3
	for side, row := range map[string]struct {
		prepare  func(fleet) prepare
		requests int64 // at most
	}{
		"toa":    {func(f fleet) prepare { return f.toa }, 6 * images},
		"pusher": {func(f fleet) prepare { return f.pusher }, 20 * images},
	} {
		t.Run(side, func(t *testing.T) {
			server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
			defer server.Close()
			f := fleet{images: images, seed: 7, target: strings.TrimPrefix(server.URL, "http://") + "/" + side}
			by := &line{to: http.DefaultTransport}
			publish, done, err := row.prepare(f)(t.Context(), by)
			if err != nil {
				t.Fatal(err)
			}
			defer done()
			by.sent.Store(0)
			if err := publish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if sent := by.sent.Load(); sent == 0 || sent > row.requests {
				t.Errorf("%d requests, want some and %d at most", sent, row.requests)
			}
			for i := range images {
				checkGrown(t.Context(), t, f, i)
			}
		})
	}
}

// checkGrown wants an image of the base's three layers and one of 50 KB.
func checkGrown(ctx context.Context, t *testing.T, f fleet, i int) {
	t.Helper()
	ref, err := name.NewTag(f.repository(i) + ":two")
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(ref, remote.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 4 {
		t.Fatalf("%s: %d layers, %v, want 4", ref, len(layers), err)
	}
	if size, err := layers[3].Size(); err != nil || size < layerSize || size > layerSize*11/10 {
		t.Error(fmt.Sprint(ref, ": the last layer has ", size, " bytes, ", err, ", want 50 KB"))
	}
}
