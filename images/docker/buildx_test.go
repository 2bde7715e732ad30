package docker_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"toa.io/toa/images"
	"toa.io/toa/internal/enginetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/templates"
)

// live is a bench whose docker is the real one, with a real buildx and engine.
type live struct {
	*bench
	host   string
	client *images.Client
}

type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }

func newLive(t *testing.T) *live {
	t.Helper()
	client, err := exec.LookPath("docker")
	if err != nil {
		t.Skip("no docker client on this machine")
	}
	buildx, address := enginetest.Binary(t, "docker-buildx"), enginetest.BuildKit(t)
	b := newBench(t, "exec '"+client+"' \"$@\"\n")
	plugins := filepath.Join(os.Getenv("DOCKER_CONFIG"), "cli-plugins")
	if err := errors.Join(os.MkdirAll(plugins, 0o700), os.Symlink(buildx, filepath.Join(plugins, "docker-buildx"))); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), client, "buildx", "create", "--name", "toa", "--driver", "remote", address).CombinedOutput()
	if err != nil {
		t.Fatalf("docker buildx create: %v: %s", err, out)
	}
	return &live{bench: b, host: enginetest.Registry(t), client: &images.Client{Keychain: anonymous{}}}
}

// based makes a step start from a base image of the registry.
func (r *live) based(t *testing.T, s orchestrator.Step) orchestrator.Step {
	t.Helper()
	s.Recipe.Base = enginetest.Base(t, r.host, s.Recipe.Platforms...)
	s.Recipe.Digests = nil
	resolver := &images.Resolver{Client: r.client, Blobs: r.blobs}
	for _, platform := range s.Recipe.Platforms {
		digest, err := resolver.Resolve(t.Context(), s.Recipe.Base, platform)
		if err != nil {
			t.Fatal(err)
		}
		s.Recipe.Digests = append(s.Recipe.Digests, digest)
	}
	return s
}

// run builds and publishes as the orchestrator does.
func (r *live) run(t *testing.T, to orchestrator.Registry, s orchestrator.Step, deps ...orchestrator.Result) orchestrator.Result {
	t.Helper()
	image, err := r.builder.Build(t.Context(), s, deps)
	if err != nil {
		t.Fatalf("Build: %v\n%s", err, r.seen.text())
	}
	digest, err := to.Publish(t.Context(), s, image)
	if err != nil {
		t.Fatalf("Publish: %v", err)
	}
	ref := s.Reference
	ref.Digest = digest
	return orchestrator.Result{ID: s.ID, Reference: ref, Artifact: image}
}

func (r *live) remote() *images.Remote { return &images.Remote{Client: r.client, Blobs: r.blobs} }

func (r *live) pull(t *testing.T, ref orchestrator.Reference, arch string) v1.Image {
	t.Helper()
	parsed, err := name.ParseReference(ref.Repository + "@" + ref.Digest)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(parsed, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
	if err != nil {
		t.Fatalf("pull %s: %v", ref, err)
	}
	return image
}

// below are the files below a directory in the last layer of an image: bases
// are large.
func below(t *testing.T, image v1.Image, dir string) files {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	body, err := layers[len(layers)-1].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	all := files{}
	for archive := tar.NewReader(body); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		path, ok := strings.CutPrefix(strings.TrimPrefix(header.Name, "/"), dir+"/")
		if !ok || header.Typeflag == tar.TypeDir || path == "" {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case header.Typeflag == tar.TypeSymlink:
			all[path] = "->" + header.Linkname
		case header.Mode&0o100 != 0:
			all[path] = "x:" + string(data)
		default:
			all[path] = string(data)
		}
	}
}

// everywhere is all text of an image: config, manifest and layers.
func everywhere(t *testing.T, image v1.Image) string {
	t.Helper()
	config, err := image.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	text := string(config) + string(manifest)
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, layer := range layers[1:] { // the first is the base's
		body, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(body)
		if err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	return text
}

// running is the step of a dependencies image that only runs lines.
func running(lines ...string) orchestrator.Step {
	s := orchestrator.Step{
		ID: "dependencies/edge",
		Recipe: templates.Recipe{
			Kind: "dependencies", Platforms: []string{orchestrator.HostPlatform()},
			Env: []string{"NODE_ENV=production"}, Workdir: "/composition", Arguments: []string{"CANARY_TOKEN"},
		},
	}
	for _, line := range lines {
		s.Recipe.Runs = append(s.Recipe.Runs, templates.Run{Line: line, Owner: "store.orders"})
	}
	return s
}

// The whole way: lines run with arguments that leave no trace, the image is
// published by us, and the composition stands on it.
func TestBuildxBuildsAndWePublish(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-argument")
	for _, disk := range []bool{false, true} {
		t.Run(map[bool]string{false: "to a registry", true: "to disk"}[disk], func(t *testing.T) {
			r := newLive(t)
			var to orchestrator.Registry = r.remote()
			repository := r.host + "/shop/composition-edge"
			if disk {
				r.builder.Layout = &images.Layout{Dir: filepath.Join(r.dir, "images"), Blobs: r.blobs}
				to, repository = r.builder.Layout, "shop/composition-edge"
			}
			deps := r.based(t, running(`echo "$CANARY_TOKEN" | wc -c > /length; echo "seen $CANARY_TOKEN"`))
			deps.Reference = orchestrator.Reference{Repository: repository, Tag: "deps-t"}
			base := r.run(t, to, deps)

			member := files{"index.js": "1", "bin/run": "x:#!/bin/sh\n", "link": "->index.js"}
			s := composition(t, member)
			s.Recipe.Base, s.Recipe.Platforms = "dependencies/edge", deps.Recipe.Platforms
			s.Reference = orchestrator.Reference{Repository: repository, Tag: "t"}
			top := r.run(t, to, s, base)

			if disk {
				// A layout is published to a registry only to look at it.
				image, ok := top.Artifact.(*images.Image)
				if !ok {
					t.Fatalf("artifact is a %T", top.Artifact)
				}
				top.Reference.Repository = r.host + "/shop/composition-edge"
				s.Reference = top.Reference
				if _, err := r.remote().Publish(t.Context(), s, image); err != nil {
					t.Fatal(err)
				}
			}
			image := r.pull(t, top.Reference, strings.TrimPrefix(orchestrator.HostPlatform(), "linux/"))
			if got := below(t, image, "composition/store-orders"); !maps.Equal(got, member) {
				t.Errorf("files: got %q, want %q", got, member)
			}
			text := everywhere(t, image)
			if !strings.Contains(text, "16\n") {
				t.Error("the line did not see the argument")
			}
			if strings.Contains(text+r.calls(t)+r.seen.text(), "canary") {
				t.Error("the argument is in the image, a command or the output")
			}
			file, err := image.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(file.Config.Cmd, " "); got != "/bin/sh -c toa compose *" || file.Created.Unix() != 0 {
				t.Errorf("config: got command %q, created %v", got, file.Created)
			}
			r.left(t)
		})
	}
}

// C03: a file that changes and keeps its size gets into the image.
func TestBuildxSeesAFileOfEqualSize(t *testing.T) {
	r := newLive(t)
	for _, content := range []string{"111", "222", "111"} {
		s := composition(t, files{"a": content})
		s.Reference = orchestrator.Reference{Repository: r.host + "/shop/composition-edge", Tag: "t" + content}
		done := r.run(t, r.remote(), s)
		if got := below(t, r.pull(t, done.Reference, "amd64"), "composition/store-orders")["a"]; got != content {
			t.Errorf("file: got %q, want %q", got, content)
		}
	}
}

// Several platforms are one index, each on the base that is pinned for it.
func TestBuildxBuildsSeveralPlatforms(t *testing.T) {
	r := newLive(t)
	s := composition(t, files{"a": "1"})
	s.Recipe.Platforms = []string{"linux/amd64", "linux/arm64"}
	s = r.based(t, s)
	s.Reference = orchestrator.Reference{Repository: r.host + "/shop/composition-edge", Tag: "t"}
	done := r.run(t, r.remote(), s)
	for i, arch := range []string{"amd64", "arm64"} {
		image := r.pull(t, done.Reference, arch)
		file, err := image.ConfigFile()
		if err != nil || file.Architecture != arch {
			t.Errorf("%s: got an image for %v, %v", arch, file, err)
		}
		base, err := name.ParseReference(r.host + "/base/busybox@" + s.Recipe.Digests[i])
		if err != nil {
			t.Fatal(err)
		}
		want, err := remote.Image(base)
		if err != nil {
			t.Fatal(err)
		}
		if got, below := manifest(t, image).Layers[0].Digest, manifest(t, want).Layers[0].Digest; got != below {
			t.Errorf("%s: first layer is %s, not the base's %s", arch, got, below)
		}
	}
}

func manifest(t *testing.T, image v1.Image) *v1.Manifest {
	t.Helper()
	m, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A line that fails is told with its owner and its output.
func TestBuildxLineThatFails(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-argument")
	r := newLive(t)
	s := r.based(t, running("true", "for i in $(seq 30); do echo line $i; done; echo $CANARY_TOKEN; exit 3"))
	s.Reference = orchestrator.Reference{Repository: r.host + "/shop/x", Tag: "deps-t"}
	_, err := r.builder.Build(t.Context(), s, nil)
	var failed *images.RunError
	if !errors.As(err, &failed) {
		t.Fatalf("Build: got %v, want a RunError\n%s", err, r.seen.text())
	}
	if failed.Owner != "store.orders" || failed.Line != s.Recipe.Runs[1].Line || failed.Reason != "exit code: 3" {
		t.Errorf("RunError: got %+v", failed)
	}
	if !slices.Contains(failed.Said, "line 30") || !slices.Contains(failed.Said, "***") || len(failed.Said) != images.MaxSaid {
		t.Errorf("Said: got %q", failed.Said)
	}
	r.left(t)
}

// C85, C78: images that are built at once have each their own files.
func TestBuildxBuildsAtOnce(t *testing.T) {
	r := newLive(t)
	contents := []string{"111", "222", "333"}
	var wait sync.WaitGroup
	for _, content := range contents {
		s := composition(t, files{"a": content})
		s.Reference = orchestrator.Reference{Repository: r.host + "/shop/composition-" + content, Tag: "t"}
		wait.Go(func() {
			image, err := r.builder.Build(t.Context(), s, nil)
			if err != nil {
				t.Errorf("Build: %v", err)
				return
			}
			if got := onlyLayer(t, r, image); !strings.Contains(got, content) {
				t.Errorf("image of %s has another one's file", content)
			}
		})
	}
	wait.Wait()
	r.left(t)
}

// onlyLayer is the content of the layer of an image from scratch.
func onlyLayer(t *testing.T, r *live, artifact orchestrator.Artifact) string {
	t.Helper()
	raw, err := r.blobs.Bytes(artifact.Digest())
	if err != nil {
		t.Error(err)
		return ""
	}
	var m v1.Manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Error(err)
		return ""
	}
	text := ""
	for _, layer := range m.Layers {
		body, err := r.blobs.Open(layer.Digest.String())
		if err != nil {
			t.Error(err)
			return ""
		}
		plain, err := gzip.NewReader(body)
		if err != nil {
			t.Error(err)
			return ""
		}
		data, err := io.ReadAll(plain)
		_ = body.Close()
		if err != nil {
			t.Error(err)
		}
		text += string(data)
	}
	return text
}

// Equal steps give equal bytes, wherever their context stood.
func TestBuildxIsReproducible(t *testing.T) {
	var digests []string
	for range 2 {
		r := newLive(t)
		s := composition(t, files{"a": "1", "bin/run": "x:#!/bin/sh\n"})
		image, err := r.builder.Build(t.Context(), s, nil)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, image.Digest())
	}
	if digests[0] != digests[1] {
		t.Errorf("digests differ: %q", digests)
	}
}

// A build that is given up ends soon, with everything that it began.
func TestBuildxIsInterrupted(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-argument")
	r := newLive(t)
	s := r.based(t, running("echo begun; sleep 600"))
	s.Reference = orchestrator.Reference{Repository: r.host + "/shop/x", Tag: "deps-t"}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted")
	r.builder.Observe = func(e orchestrator.Event) {
		if log, ok := e.(orchestrator.LogEvent); ok && strings.HasSuffix(log.Text, "begun") {
			cancel(stop)
		}
	}
	if _, err := r.builder.Build(ctx, s, nil); !errors.Is(err, stop) {
		t.Errorf("Build: got %v, want %v", err, stop)
	}
	r.left(t)
}
