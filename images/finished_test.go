package images_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"toa.io/toa/cache"
	"toa.io/toa/images"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// A finished image is published as it is: one platform or several.
func TestFinished(t *testing.T) {
	image, err := random.Image(100, 2)
	succeed(t, err)
	index, err := random.Index(100, 1, 3)
	succeed(t, err)
	for name, appended := range map[string]mutate.Appendable{"one platform": image, "an index of several": index} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			digest := writeLayout(t, filepath.Join(root, "made"), appended)
			got, err := images.FinishedDigest(filepath.Join(root, "made"))
			if err != nil || got != digest {
				t.Fatalf("FinishedDigest = %s, %v, want %s", got, err, digest)
			}
			artifact, err := (&images.Finished{Root: root}).Build(context.Background(), finishedStep(digest), nil)
			succeed(t, err)
			if artifact.Digest() != digest {
				t.Errorf("the artifact is %s, want %s", artifact.Digest(), digest)
			}
			blobs, err := cache.OpenBlobs(t.TempDir())
			succeed(t, err)
			published, err := (&images.Layout{Dir: t.TempDir(), Blobs: blobs}).Publish(context.Background(), finishedStep(digest), artifact)
			if err != nil || published != digest {
				t.Errorf("Publish = %s, %v, want %s", published, err, digest)
			}
		})
	}
}

func TestFinishedThatIsNot(t *testing.T) {
	root := t.TempDir()
	first, err := random.Image(100, 1)
	succeed(t, err)
	second, err := random.Image(100, 1)
	succeed(t, err)
	digest := writeLayout(t, filepath.Join(root, "made"), first, second)
	if _, err := images.FinishedDigest(filepath.Join(root, "made")); err == nil || !strings.Contains(err.Error(), "holds 2 images, expected one") {
		t.Errorf("of a layout of two images: %v", err)
	}
	if _, err := images.FinishedDigest(root); err == nil || !strings.Contains(err.Error(), "holds 0 images, expected one") {
		t.Errorf("of no layout: %v", err)
	}

	root = t.TempDir()
	writeLayout(t, filepath.Join(root, "made"), first)
	finished := &images.Finished{Root: root}
	if _, err := finished.Build(context.Background(), finishedStep(digest), nil); !errors.Is(err, cache.ErrDamaged) {
		t.Errorf("of a layout that holds another image than was planned: %v", err)
	}
	hash, err := first.Digest()
	succeed(t, err)
	succeed(t, os.WriteFile(filepath.Join(root, "made", "blobs", "sha256", hash.Hex), []byte("{}"), 0o600))
	if _, err := finished.Build(context.Background(), finishedStep(hash.String()), nil); err == nil {
		t.Error("a damaged manifest was taken")
	}
}

// What is not finished is for the builder behind it.
func TestFinishedLeavesOthers(t *testing.T) {
	behind := &counter{}
	_, err := (&images.Finished{Builder: behind}).Build(context.Background(), orchestrator.Step{Recipe: templates.Recipe{Kind: orchestrator.KindComposition}}, nil)
	if err != nil || behind.calls != 1 {
		t.Errorf("the builder was called %d times, %v", behind.calls, err)
	}
}

type counter struct{ calls int }

func (c *counter) Build(context.Context, orchestrator.Step, []orchestrator.Result) (orchestrator.Artifact, error) {
	c.calls++
	return nil, nil
}

func finishedStep(digest string) orchestrator.Step {
	return orchestrator.Step{
		ID:        "composition/made",
		Recipe:    templates.Recipe{Kind: orchestrator.KindFinished, Base: "oci-layout://made@" + digest},
		Reference: orchestrator.Reference{Repository: "shop/made", Tag: "t"},
	}
}

// writeLayout writes images into a layout, and returns the digest of the last.
func writeLayout(t *testing.T, dir string, all ...mutate.Appendable) string {
	t.Helper()
	path, err := layout.Write(dir, empty.Index)
	succeed(t, err)
	var last v1.Hash
	for _, one := range all {
		switch one := one.(type) {
		case v1.Image:
			succeed(t, path.AppendImage(one))
		case v1.ImageIndex:
			succeed(t, path.AppendIndex(one))
		}
		last, err = one.Digest()
		succeed(t, err)
	}
	return last.String()
}

func succeed(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
