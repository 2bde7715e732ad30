package bazel_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
	"github.com/sirupsen/logrus"
)

// mixed is a workspace with a base and a finished image that Bazel makes, as
// rules for images do: directories that are layouts. It is in a package below
// the root.
var mixed = map[string]string{
	"layout.bzl": `
def _impl(ctx):
    out = ctx.actions.declare_directory(ctx.label.name)
    ctx.actions.run_shell(
        command = "tar -xf %s -C %s" % (ctx.file.archive.path, out.path),
        inputs = [ctx.file.archive],
        outputs = [out],
    )
    return [DefaultInfo(files = depset([out]))]

layout = rule(
    implementation = _impl,
    attrs = {"archive": attr.label(allow_single_file = True)},
)
`,
	"BUILD": `
load("@toa//bazel:defs.bzl", "toa_graph", "toa_tags", "toa_workspace")
load(":layout.bzl", "layout")

layout(name = "base_image", archive = "base.tar")

layout(name = "finished_image", archive = "finished.tar")

# A directory that an action fills, in a component.
layout(name = "components/one/words", archive = "words.tar")

toa_workspace(
    name = "workspace",
    srcs = glob(["components/**"]) + [":components/one/words"],
    context = "context.toa.yaml",
    environment = "production",
    finished = {":finished_image": "ready"},
    images = {":base_image": "images/base"},
)

toa_graph(
    name = "mixed",
    jobs = 2,
    registry = "{STABLE_REGISTRY}/{TEAM}",
    workspace = ":workspace",
)

toa_graph(
    name = "unknown",
    registry = "{NO_SUCH_KEY}/{TEAM}",
    workspace = ":workspace",
)

toa_tags(name = "tags", workspace = ":workspace")
`,
	"context.toa.yaml": `
name: mixed
version: 1.0.0
runtime: 1.0.0-alpha.306
registry:
  platforms: [linux/amd64]
  build: {image: "oci-layout://images/base"}
resources: ~
compositions@production:
  - {name: based, components: [one]}
  - {name: ready, components: [two]}
`,
	"components/one/manifest.toa.yaml": "name: one\n",
	"components/two/manifest.toa.yaml": "name: two\n",
}

// words are in a directory that an action fills.
var words = map[string]string{"a.txt": "a", "b/c.txt": "c"}

func (b *bazel) images(t *testing.T) {
	writeFiles(t, b.mixed(), mixed)
	b.archive(t, "base")
	finished := b.archive(t, "finished")
	packed := t.TempDir()
	writeFiles(t, packed, words)
	must(t, exec.Command("tar", "-cf", filepath.Join(b.mixed(), "words.tar"), "-C", packed, ".").Run())
	registry := startRegistry(t)
	b.status(t, "STABLE_REGISTRY "+registry+"\nTEAM blue\n")

	t.Run("a base counts by its content", func(t *testing.T) { b.bases(t) })
	t.Run("are published", func(t *testing.T) {
		r := b.must(t, "run", "//mixed:mixed.push")
		wants(t, r.stdout,
			"composition/based "+registry+"/blue/mixed/composition-based:",
			"composition/ready "+registry+"/blue/mixed/composition-ready:",
			"@"+finished)
		for _, reference := range strings.Fields(r.stdout) {
			if name, digest, ok := strings.Cut(reference, "@"); ok {
				published(t, name, digest)
			}
		}
		wants(t, b.must(t, "run", "//mixed:mixed.push").stderr, "2 cached")
	})
	t.Run("a status that is not known is an error", func(t *testing.T) {
		r := b.run(t, b.workspace, "run", "//mixed:unknown.plan")
		if r.code != 2 {
			t.Errorf("exit code %d, want 2", r.code)
		}
		wants(t, r.stderr, "{NO_SUCH_KEY} has no value: --workspace_status_command has to print one")
	})
}

func (b *bazel) mixed() string { return filepath.Join(b.workspace, "mixed") }

// commands runs toa itself, as it is installed and as Bazel downloads it.
func (b *bazel) commands(t *testing.T) {
	path := filepath.Join(binaries, "toa")
	checksum := fmt.Sprintf("%x", sha256.Sum256([]byte(read(t, path))))
	undo := b.append(t, "WORKSPACE", fmt.Sprintf(`
load("@toa//bazel:toolchain.bzl", "toa_prebuilt")
toa_prebuilt(name = "downloaded", sha256 = %q, urls = ["file://%s"])
toa_prebuilt(name = "damaged", sha256 = %q, urls = ["file://%[2]s"])
`, checksum, path, strings.Repeat("0", 64)))
	defer undo()
	want := b.plain(t, b.workspace, "version")
	for _, repository := range []string{"toa_command", "downloaded"} {
		if got := b.must(t, "run", "@"+repository+"//:toa", "--", "version").stdout; got != want {
			t.Errorf("@%s//:toa is %q, want %q", repository, got, want)
		}
	}
	r := b.run(t, b.workspace, "run", "@damaged//:toa", "--", "version")
	wants(t, r.stderr, "Checksum was "+checksum+" but wanted 0000")
}

// archive makes an image with toa itself, and leaves its layout in an archive.
// It returns the digest.
func (b *bazel) archive(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"context.toa.yaml":                 "name: " + name + "\nregistry: {platforms: [linux/amd64], build: {image: scratch}}\nresources: ~\n",
		"components/one/manifest.toa.yaml": "name: one\nversion: " + name + "\n",
	})
	printed := b.plain(t, dir, "push", "-C", dir)
	_, reference, _ := strings.Cut(strings.TrimSpace(printed), " ")
	_, digest, _ := strings.Cut(reference, "@")
	b.plain(t, b.mixed(), "images", "export", reference, "-o", name+".tar")
	return digest
}

// status has Bazel know values.
func (b *bazel) status(t *testing.T, lines string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "status.sh")
	must(t, os.WriteFile(script, []byte("cat <<'END'\n"+lines+"END\n"), 0o755))
	must(t, os.WriteFile(b.rc, []byte(read(t, b.rc)+"build --workspace_status_command='sh "+script+"'\n"), 0o644))
}

// bases compares with toa itself, where somebody has pinned the same layout.
func (b *bazel) bases(t *testing.T) {
	b.must(t, "build", "//mixed:tags", "//mixed:base_image")
	tags := read(t, b.bin("mixed/tags.json"))
	tree := t.TempDir()
	writeFiles(t, tree, mixed)
	copyTree(t, b.bin("mixed/base_image"), filepath.Join(tree, "images/base"))
	writeFiles(t, filepath.Join(tree, "components/one/words"), words)
	b.plain(t, tree, "lock", "update", "production")
	plain := b.plain(t, tree, "export", "tags", "production", "-o", "json")
	if got, want := tagOf(t, tags, "composition/based"), tagOf(t, plain, "composition/based"); got != want {
		t.Errorf("composition/based is %s, toa makes %s", got, want)
	}

	must(t, os.Rename(filepath.Join(b.mixed(), "base.tar"), filepath.Join(b.mixed(), "old.tar")))
	b.archive(t, "other")
	must(t, os.Rename(filepath.Join(b.mixed(), "other.tar"), filepath.Join(b.mixed(), "base.tar")))
	b.must(t, "build", "//mixed:tags")
	changed := read(t, b.bin("mixed/tags.json"))
	if tagOf(t, changed, "composition/based") == tagOf(t, tags, "composition/based") {
		t.Error("another base made the same tag")
	}
	if tagOf(t, changed, "composition/ready") != tagOf(t, tags, "composition/ready") {
		t.Error("another base made another tag of a finished image")
	}
}

func tagOf(t *testing.T, tags, id string) string {
	t.Helper()
	var all []struct{ ID, Reference string }
	must(t, json.Unmarshal([]byte(tags), &all))
	for _, one := range all {
		if one.ID == id {
			return one.Reference
		}
	}
	t.Fatalf("no %s in %s", id, tags)
	return ""
}

// startRegistry starts a registry and returns its host.
func startRegistry(t *testing.T) string {
	t.Helper()
	logrus.SetOutput(io.Discard) // the registry's own log
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": {}}}
	config.Log.Level = "error"
	config.Log.AccessLog.Disabled = true
	ctx, cancel := context.WithCancel(context.Background())
	server := httptest.NewServer(handlers.NewApp(ctx, config))
	t.Cleanup(func() { server.Close(); cancel() })
	return strings.TrimPrefix(server.URL, "http://")
}

// published asks the registry for the digest of a tag.
func published(t *testing.T, name, digest string) {
	t.Helper()
	host, rest, _ := strings.Cut(name, "/")
	colon := strings.LastIndex(rest, ":")
	request, err := http.NewRequest(http.MethodHead, "http://"+host+"/v2/"+rest[:colon]+"/manifests/"+rest[colon+1:], nil)
	must(t, err)
	request.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json")
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	must(t, response.Body.Close())
	if got := response.Header.Get("Docker-Content-Digest"); got != digest {
		t.Errorf("%s is %s (%s), want %s", name, got, response.Status, digest)
	}
}
