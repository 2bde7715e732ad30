package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

func TestFind(t *testing.T) {
	root := t.TempDir()
	below := filepath.Join(root, "components", "store.orders")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := workspace.Find(below)
	missing, ok := errors.AsType[*workspace.NotFoundError](err)
	if !ok || missing.Start != below || missing.Hint() == "" || !strings.Contains(err.Error(), workspace.ContextFile) {
		t.Errorf("Find(%q) without a context: %v", below, err)
	}
	if err := os.WriteFile(filepath.Join(root, workspace.ContextFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, start := range []string{root, below} {
		if got, err := workspace.Find(start); err != nil || got != root {
			t.Errorf("Find(%q) = %q, %v, want %q", start, got, err, root)
		}
	}
	t.Chdir(below)
	if got, err := workspace.Find("."); err != nil || got != root {
		t.Errorf(`Find(".") = %q, %v, want %q`, got, err, root)
	}
}

// packed is what is kept of a YAML value that stands at a place.
func packed(text string, line, column int) document.Packed {
	if text == "~" && line == 0 {
		return document.Pack(&document.Value{Kind: document.Null})
	}
	return document.Pack(parsed(text, line, column))
}

// parsed is a YAML value that stands at a place; it has one line.
func parsed(text string, line, column int) *document.Value {
	const key = "x: "
	r := document.NewReader("x")
	root := r.Parse([]byte(strings.Repeat("\n", line-1) + key + text + "\n"))
	return moved(root.Fields[0].Value, column-len(key)-1)
}

func moved(v *document.Value, columns int) *document.Value {
	v.At.Column += columns
	for _, item := range v.Items {
		moved(item, columns)
	}
	for i := range v.Fields {
		v.Fields[i].At.Column += columns
		moved(v.Fields[i].Value, columns)
	}
	return v
}

func TestDefaults(t *testing.T) {
	w := load(t, files(), "")
	want := workspace.Context{
		Name:    "shop",
		Runtime: workspace.Runtime{Version: workspace.DefaultRuntime},
		Registry: workspace.Registry{
			Platforms: []string{"linux/amd64", "linux/arm64"},
			Services:  "build",
			Build:     workspace.Build{Scripts: workspace.ScriptsRun},
		},
		Builder: workspace.Builder{Kind: "auto"},
		Mono:    workspace.Mono{Replicas: 2},
	}
	if !reflect.DeepEqual(w.Context, want) {
		t.Errorf("Context = %+v, want %+v", w.Context, want)
	}
	component := &workspace.Component{
		ID: "store.orders", Namespace: "store", Name: "orders", Label: "store-orders",
		Dir: "components/store.orders", Build: workspace.Build{Scripts: workspace.ScriptsRun},
		Module: "commonjs", Contract: []byte("{}"),
		Bindings: []string{"@toa.io/bindings.amqp"}, Uses: []string{"@toa.io/bindings.amqp"}, Bridge: "@toa.io/bridges.node",
		Position: workspace.Position{File: manifestPath, Line: 2, Column: 7},
	}
	for _, name := range []string{"fetch", "introspection", "telemetry"} {
		component.Extensions = append(component.Extensions, workspace.Declaration{
			Package: "@toa.io/extensions." + name, Position: component.Position, Value: packed("~", 0, 0),
		})
	}
	if !reflect.DeepEqual(w.Components, []*workspace.Component{component}) {
		t.Errorf("Components = %+v, want %+v", w.Components[0], component)
	}
	composition := &workspace.Composition{
		Name: "store-orders", Slug: "store-orders", Components: w.Components, Derived: true,
		Image: "ghcr.io/toa-io/runtime:" + workspace.DefaultRuntime, Replicas: 2, Position: component.Position,
	}
	if !reflect.DeepEqual(w.Compositions, []*workspace.Composition{composition}) {
		t.Errorf("Compositions = %+v, want %+v", w.Compositions[0], composition)
	}
	if len(w.Notices) != 0 || w.Environment != "" {
		t.Errorf("Notices = %v, Environment = %q, want none", w.Notices, w.Environment)
	}
}

// complete states every key that is acted on.
const completeContext = `
name: Shop-One
version: 1.10
description: "Sells things: many"
packages: ./parts/*/
runtime: {version: 1.0.0-alpha.300, registry: "https://npm.example.com", proxy: "http://proxy:3128"}
registry:
  base: registry.example.com:5000/team/
  platforms: [linux/arm64, linux/amd64, linux/arm/v7]
  credentials: pull
  services: published
  insecure: [registry.example.com:5000]
  build:
    image: node:24
    run: |
      apk add git

      apk add curl
    arguments: [STAGE, EXTRA]
    plain: true
    scripts: ignore
compositions:
  - name: Edge
    components: [gone, store.orders, echo]
    image: oci-layout://base
    replicas: 3
    services: [exposition, '@acme/service', cadence]
    resources: {cpu: [100m, 1], memory: [64Mi, 1Gi]}
  - {name: rest, components: [default.echo]}
  - {name: empty, components: [gone]}
release:
  namespace: shop
  context: production
  wait: true
  timeout: 10m
  atomic: true
  history: 5
  registry: oci://charts.example.com/shop/
builder: {kind: buildkit, address: "tcp://builder:1234", cache: "type=gha"}
cache: {shared: registry, write: never}
evicted: {components: [gone], services: [cadence]}
resources: ~
mono: {replicas: 5, resources: {cpu: [1, 2]}}
ingress: {hosts: [a.example.com, b.example.com], class: alb, annotations: {a/b: '1', c: 2}, default: false}
atomicity: {redis: [redis://a, redis://b, redis://c], interval: 100}
outbox: {interval: 200, batch: 10, retention: 0}
inbox: {retention: 600}
addressed: {timeout: 1000}
events: [store.orders.created, echo.done]
mongodb: {a: mongodb://a}
annotations: {'@toa.io/storages.mongodb': {b: [mongodb://b]}, '@acme/x#y': ~, stash: 1}
`

const completeManifest = `
namespace: store
name: orders
version: 010
files: [src, "lib/**/*.js"]
ignore: ["!*.log", docs]
build:
  image: node:24-alpine
  run: "  make  \n\n make install\n"
  scripts: run
entity: {storage: ~, schema: {total*: 1.50, code: 010, big: 1e6, hex: 0x1F, half: .5, "on": on, html: <b>}}
bindings: ['@toa.io/bindings.amqp']
bridge: bash
prototype: ./base
operations: {get: {query: true, bindings: [http]}}
events: {created: {binding: ./carrier}}
receivers: {b.created: get, a.b.made: {source: legacy, operation: get}}
guards: [one]
stash: ~
extensions: {telemetry: {logs: 1}}
`

func completeFiles() fstest.MapFS {
	return fstest.MapFS{
		contextPath:                                 {Data: []byte(completeContext)},
		"package.json":                              {Data: []byte(`{"type": "module"}`)},
		"parts/store.orders/manifest.toa.yaml":      {Data: []byte(completeManifest)},
		"parts/store.orders/package.json":           {Data: []byte(`{"dependencies": {"left-pad": "1", "near": "file:near.tgz"}}`)},
		"parts/store.orders/near.tgz":               {Data: []byte("packed")},
		"parts/store.orders/package-lock.json":      {Data: []byte(`{}`)},
		"parts/echo/manifest.toa.yaml":              {Data: []byte("bridge: node\nstate: ~\n")},
		"parts/gone/manifest.toa.yaml":              {Data: []byte("version: 1\n")},
		"parts/store.orders/base/manifest.toa.yaml": {Data: []byte("prototype: ~\n")},
	}
}

func TestComplete(t *testing.T) {
	w := load(t, completeFiles(), "")
	one := func(n int) *int { return &n }
	no := false
	mongodb := parsed("{a: mongodb://a}", 50, 10)
	mongodb.Fields = append(mongodb.Fields, parsed("{b: [mongodb://b]}", 51, 43).Fields...)
	want := workspace.Context{
		Name: "Shop-One", Version: "1.10", Description: "Sells things: many",
		Runtime: workspace.Runtime{Version: "1.0.0-alpha.300", Registry: "https://npm.example.com", Proxy: "http://proxy:3128"},
		Registry: workspace.Registry{
			Base:        "registry.example.com:5000/team",
			Platforms:   []string{"linux/amd64", "linux/arm/v7", "linux/arm64"},
			Credentials: "pull", Services: "published", Insecure: []string{"registry.example.com:5000"},
			Build: workspace.Build{
				Image: "node:24", Run: []string{"apk add git", "apk add curl"},
				Arguments: []string{"STAGE", "EXTRA"}, Plain: true, Scripts: workspace.ScriptsIgnore,
			},
		},
		Release: workspace.Release{
			Namespace: "shop", Context: "production", Wait: true, Timeout: 10 * time.Minute,
			Atomic: true, History: 5, Registry: "charts.example.com/shop",
		},
		Builder: workspace.Builder{Kind: "buildkit", Address: "tcp://builder:1234", Cache: "type=gha"},
		Cache:   workspace.Cache{Shared: workspace.CacheRegistry, Write: workspace.CacheNever},
		Annotations: []workspace.Annotation{
			{Package: "@acme/x#y", Value: parsed("~", 51, 76), Position: workspace.Position{File: contextPath, Line: 51, Column: 63}},
			{Package: "@toa.io/extensions.stash", Value: parsed("1", 51, 86), Position: workspace.Position{File: contextPath, Line: 51, Column: 79}},
			{Package: "@toa.io/storages.mongodb", Value: mongodb, Position: workspace.Position{File: contextPath, Line: 50, Column: 1}},
		},
		Resources: &workspace.Resources{None: true},
		Mono:      workspace.Mono{Replicas: 5, Resources: &workspace.Resources{CPU: &[2]string{"1", "2"}}},
		Ingress: &workspace.Ingress{
			Hosts: []string{"a.example.com", "b.example.com"}, Class: "alb",
			Annotations: map[string]string{"a/b": "1", "c": "2"}, Default: &no,
		},
		Evicted:   workspace.Evicted{Components: []string{"default.gone"}, Services: []string{"@toa.io/extensions.cadence"}},
		Atomicity: &workspace.Atomicity{Redis: []string{"redis://a", "redis://b", "redis://c"}, Interval: one(100)},
		Outbox:    workspace.Outbox{Interval: one(200), Batch: one(10), Retention: one(0)},
		Inbox:     workspace.Inbox{Retention: one(600)},
		Addressed: workspace.Addressed{Timeout: one(1000)},
		Events:    []string{"store.orders.created", "default.echo.done"},
	}
	if !reflect.DeepEqual(w.Context, want) {
		t.Errorf("Context = %+v\nwant %+v", w.Context, want)
	}
	at := func(line, column int) workspace.Position {
		return workspace.Position{File: "parts/store.orders/manifest.toa.yaml", Line: line, Column: column}
	}
	orders := workspace.Component{
		ID: "store.orders", Namespace: "store", Name: "orders", Label: "store-orders", Dir: "parts/store.orders",
		Version: "010", Files: []string{"src", "lib/**/*.js"}, Ignore: []string{"!*.log", "docs"},
		Build:  workspace.Build{Image: "node:24-alpine", Run: []string{"make", "make install"}, Scripts: workspace.ScriptsRun},
		Module: "module", HasPackage: true, HasDependencies: true, Lock: "package-lock.json",
		Locals: []workspace.Local{{Name: "near", Path: "parts/store.orders/near.tgz", Archive: true}},
		Contract: []byte(`{"entity":{"storage":null,"schema":{"total*":1.50,"code":"010","big":1e6,"hex":31,"half":0.5,"on":"on","html":"<b>"}},` +
			`"bindings":["@toa.io/bindings.amqp"],"bridge":"bash","prototype":"./base","operations":{"get":{"query":true,"bindings":["http"]}},` +
			`"events":{"created":{"binding":"./carrier"}},"receivers":{"b.created":"get","a.b.made":{"source":"legacy","operation":"get"}},"guards":["one"]}`),
		HasEntity: true, Storage: "@toa.io/storages.null", Bridge: "@toa.io/bridges.bash", Prototype: "./parts/store.orders/base",
		Prototypes: []string{"parts/store.orders/base"},
		Bindings:   []string{"@toa.io/bindings.amqp"},
		Uses:       []string{"./parts/store.orders/carrier", "@toa.io/bindings.amqp", "@toa.io/bindings.http"},
		Operations: []string{"get"}, Events: []string{"created"}, Guards: []string{"one"},
		Receivers: []workspace.Receiver{{Event: "a.b.made", Source: "legacy"}, {Event: "default.b.created"}},
		Extensions: []workspace.Declaration{
			{Package: "@toa.io/extensions.fetch", Value: packed("~", 0, 0), Position: at(3, 7)},
			{Package: "@toa.io/extensions.introspection", Value: packed("~", 0, 0), Position: at(3, 7)},
			{Package: "@toa.io/extensions.stash", Value: packed("~", 19, 8), Position: at(19, 1)},
			{Package: "@toa.io/extensions.telemetry", Value: packed("{logs: 1}", 20, 25), Position: at(20, 14)},
		},
		Position: workspace.Position{File: "parts/store.orders/manifest.toa.yaml", Line: 3, Column: 7},
	}
	if got := *w.Components[2]; !reflect.DeepEqual(got, orders) {
		t.Errorf("Component = %+v\nwant %+v\n%s", got, orders, got.Contract)
	}
	if got := w.Components[0]; got.ID != "default.echo" || got.Build.Scripts != workspace.ScriptsIgnore || got.HasPackage {
		t.Errorf("Component = %+v, want default.echo that ignores scripts as the context does", got)
	}
	edge := workspace.Composition{
		Name: "Edge", Slug: "edge", Components: []*workspace.Component{w.Components[2], w.Components[0]},
		Image: "oci-layout://base", Replicas: 3, Services: []string{"@toa.io/extensions.exposition", "@acme/service"},
		Resources: &workspace.Resources{CPU: &[2]string{"100m", "1"}, Memory: &[2]string{"64Mi", "1Gi"}},
		Position:  workspace.Position{File: contextPath, Line: 23, Column: 11},
	}
	if gone := w.Components[1]; gone.ID != "default.gone" || !gone.Evicted {
		t.Errorf("Component = %+v, want default.gone, evicted", gone)
	}
	if got := *w.Compositions[0]; !reflect.DeepEqual(got, edge) || len(w.Compositions) != 2 {
		t.Errorf("Composition = %+v, want %+v and one more", got, edge)
	}
}

// A field that the complete workspace leaves empty is a field that the tests
// of the memo cannot see.
func TestCompleteIsComplete(t *testing.T) {
	w := load(t, completeFiles(), "")
	for _, value := range []any{w.Context, *w.Components[2], *w.Compositions[0]} {
		assertFilled(t, reflect.ValueOf(value), reflect.TypeOf(value).Name())
	}
}

// assertFilled lists fields that are zero, but for those that cannot be set
// together with others.
func assertFilled(t *testing.T, v reflect.Value, name string) {
	t.Helper()
	if v.Kind() != reflect.Struct {
		elsewhere := []string{"Composition.Derived", "Component.Build.Arguments", "Component.Build.Plain", "Component.Evicted", "Component.Bringer", "Component.Shared", "Component.Lacks", "Component.stray"}
		if v.IsZero() && !slices.Contains(elsewhere, name) {
			t.Errorf("%s is empty", name)
		}
		return
	}
	for i := range v.NumField() {
		assertFilled(t, v.Field(i), name+"."+v.Type().Field(i).Name)
	}
}

func TestText(t *testing.T) {
	for _, text := range []string{"010", "1.10", "on", "1e6", "0x10", "1_000", "2001-01-01", "1.0.0", "v1+2", ".5"} {
		w := load(t, files(contextPath, "name: shop\nregistry: {}\nversion: "+text+"\n"), "")
		if w.Context.Version != text {
			t.Errorf("version: %s is read as %q", text, w.Context.Version)
		}
	}
}

func TestRuntime(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"text", "runtime: 1.0.0-alpha.234", "1.0.0-alpha.234"},
		{"number", "runtime: 1.10", "1.10"},
		{"dot", "runtime: .", workspace.DefaultRuntime},
		{"dot in an object", "runtime: {version: .}", workspace.DefaultRuntime},
		{"object without a version", "runtime: {registry: 'http://localhost:4873'}", workspace.DefaultRuntime},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := load(t, files(contextPath, "name: shop\nregistry: {}\n"+test.text+"\n"), "")
			if w.Context.Runtime.Version != test.want {
				t.Errorf("Version = %q, want %q", w.Context.Runtime.Version, test.want)
			}
			if want := "ghcr.io/toa-io/runtime:" + test.want; w.Compositions[0].Image != want {
				t.Errorf("Image = %q, want %q", w.Compositions[0].Image, want)
			}
		})
	}
}

func TestRegistry(t *testing.T) {
	tests := []struct {
		name, text string
		base       string
		platforms  []string
	}{
		{"text", "registry: example.com/shop/", "example.com/shop", []string{"linux/amd64", "linux/arm64"}},
		{"one word", "registry: example", "example", []string{"linux/amd64", "linux/arm64"}},
		{"port", "registry: localhost:5000", "localhost:5000", []string{"linux/amd64", "linux/arm64"}},
		{"address", "registry: '[::1]:5000/a'", "[::1]:5000/a", []string{"linux/amd64", "linux/arm64"}},
		{"host platform", "registry: {platforms: ~}", "", nil},
		{"one platform", "registry: {platforms: [windows/amd64]}", "", []string{"windows/amd64"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := load(t, files(contextPath, "name: shop\n"+test.text+"\n"), "").Context.Registry
			if got.Base != test.base || !reflect.DeepEqual(got.Platforms, test.platforms) {
				t.Errorf("Registry = %+v, want %q %q", got, test.base, test.platforms)
			}
		})
	}
}

func TestNames(t *testing.T) {
	tests := []struct{ name, dir, manifest, id, label string }{
		{"stated", "x", "name: orders\nnamespace: store\n", "store.orders", "store-orders"},
		{"no namespace", "x.y", "name: orders\n", "default.orders", "default-orders"},
		{"directory", "store.orders", "version: 1\n", "store.orders", "store-orders"},
		{"directory without a namespace", "orders", "version: 1\n", "default.orders", "default-orders"},
		{"directory of three parts", "shop.store.orders", "version: 1\n", "store.orders", "store-orders"},
		{"namespace and a directory", "orders", "namespace: store\n", "store.orders", "store-orders"},
		{"namespace as the directory's", "store.orders", "namespace: store\n", "store.orders", "store-orders"},
		{"upper case", "x", "name: httpEcho\nnamespace: Web\n", "Web.httpEcho", "web-httpecho"},
		{"one letter", "x", "name: a\n", "default.a", "default-a"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := files("components/"+test.dir+"/manifest.toa.yaml", test.manifest)
			if test.dir != "store.orders" {
				delete(fsys, manifestPath)
			}
			got := load(t, fsys, "").Components[0]
			if got.ID != test.id || got.Label != test.label {
				t.Errorf("%q %q, want %q %q", got.ID, got.Label, test.id, test.label)
			}
		})
	}
}

func TestDirectoryNamesThatDoNotFit(t *testing.T) {
	for _, dir := range []string{"my-orders", "my-store.orders", "store.", "system.orders", "1"} {
		fsys := files("components/"+dir+"/manifest.toa.yaml", "version: 1\n")
		_, err := workspace.Load(fsys, "", nil)
		want := "components/" + dir + "/manifest.toa.yaml:1:1: name is missing and that of the directory does not fit"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Load with directory %q: %v, want %q", dir, err, want)
		}
	}
}

func TestDiscovery(t *testing.T) {
	tests := []struct {
		name, packages string
		paths          []string
		want           []string
	}{
		{"one level", "parts/*", []string{"parts/b/", "parts/a/", "parts/a/b/x", "parts/README.md"}, []string{"parts/a", "parts/b"}},
		{"root", "*", []string{"a/", "b/", ".git/config", "node_modules/x/y", "README.md"}, []string{"a", "b"}},
		{"two levels", "parts/*/*", []string{"parts/x/a/", "parts/y/b/", "parts/file"}, []string{"parts/x/a", "parts/y/b"}},
		{"in the middle", "apps/*/parts/*", []string{"apps/x/parts/a/", "apps/y/other/b"}, []string{"apps/x/parts/a"}},
		{"part of a name", "parts/a*", []string{"parts/ab/", "parts/b/x"}, []string{"parts/ab"}},
		{"one directory", "parts/a", []string{"parts/a/", "parts/b/x"}, []string{"parts/a"}},
		{"hidden on purpose", ".parts/*", []string{".parts/a/", ".parts/.b/x"}, []string{".parts/a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := fstest.MapFS{contextPath: {Data: []byte("name: shop\nregistry: {}\npackages: '" + test.packages + "'\n")}}
			for _, path := range test.paths {
				if strings.HasSuffix(path, "/") {
					path += workspace.ManifestFile
				}
				fsys[path] = &fstest.MapFile{Data: []byte("version: 1\n")}
			}
			var got []string
			for _, c := range load(t, fsys, "").Components {
				got = append(got, c.Dir)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

func TestLinks(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, contextPath), "name: shop\nregistry: {}\n")
	write(filepath.Join(root, "components/README.md"), "")
	write(filepath.Join(elsewhere, "orders", workspace.ManifestFile), "version: 1\n")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(root, "components", name)); err != nil {
			t.Fatal(err)
		}
	}
	link(filepath.Join(elsewhere, "orders"), "store.orders")
	link("README.md", "file")
	w, err := workspace.Load(os.DirFS(root), "", nil)
	if err != nil || len(w.Components) != 1 || w.Components[0].ID != "store.orders" {
		t.Fatalf("Load with a linked component: %v, %v", w, err)
	}
	link("nowhere", "gone")
	_, err = workspace.Load(os.DirFS(root), "", nil)
	if want := "components/gone: the link leads nowhere, expected a directory"; err == nil || err.Error() != want {
		t.Errorf("Load with a link to nothing: %v, want %s", err, want)
	}
}

// Reading these would wait, or never end.
func TestFilesThatAreNone(t *testing.T) {
	for _, file := range []string{contextPath, manifestPath, packagePath} {
		root := t.TempDir()
		if err := os.CopyFS(root, files()); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, file)
		_ = os.Remove(path)
		if err := syscall.Mkfifo(path, 0o644); err != nil {
			t.Skipf("no named pipes here: %v", err)
		}
		_, err := workspace.Load(os.DirFS(root), "", nil)
		if want := file + ": expected a file, found a named pipe"; err == nil || err.Error() != want {
			t.Errorf("Load: %v, want %s", err, want)
		}
	}
	fsys := files(manifestPath+"/file", "")
	delete(fsys, manifestPath)
	_, err := workspace.Load(fsys, "", nil)
	if want := manifestPath + ": expected a file, found a directory"; err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

func TestHugeContext(t *testing.T) {
	root := t.TempDir()
	path := filepath.Join(root, contextPath)
	if err := errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 200<<20)); err != nil {
		t.Fatal(err)
	}
	_, err := workspace.Load(os.DirFS(root), "", nil)
	if want := contextPath + ": expected a file of 8 MiB at most, found a larger one"; err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

func TestMissingFiles(t *testing.T) {
	_, err := workspace.Load(fstest.MapFS{}, "", nil)
	if want := "context.toa.yaml: expected a context here, found no such file"; err == nil || err.Error() != want {
		t.Errorf("Load of nothing: %v, want %s", err, want)
	}
	_, err = workspace.Load(files("components/empty/README.md", ""), "", nil)
	want := "components/empty/manifest.toa.yaml: expected a manifest here, for the directory matches `packages` of context.toa.yaml, found no such file"
	if err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

func TestDirectoryThatCannotBeShown(t *testing.T) {
	for _, name := range []string{"a\xff", "a\x1b[31m"} {
		root := t.TempDir()
		if err := os.CopyFS(root, files()); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(filepath.Join(root, "components", name), 0o755); err != nil {
			t.Skipf("no such names here: %v", err)
		}
		_, err := workspace.Load(os.DirFS(root), "", nil)
		if err == nil || !strings.Contains(err.Error(), `name is not printable text`) || strings.Contains(err.Error(), name) {
			t.Errorf("Load with directory %q: %v", name, err)
		}
	}
}

func TestEverythingWrongAtOnce(t *testing.T) {
	fsys := files(
		contextPath, "name: my shop\nregsitry: {}\nregistry: {platforms: [linux]}\ncompositions:\n  - {name: edge, components: [store.order]}\n",
		manifestPath, "namespace: store\nname: orders\nversoin: 1\nfiles: [..]\n",
		packagePath, "{",
		"components/b/manifest.toa.yaml", "name: orders\nnamespace: store\n",
		"components/c/README.md", "",
	)
	_, err := workspace.Load(fsys, "", nil)
	list, ok := errors.AsType[*workspace.Errors](err)
	if !ok {
		t.Fatalf("Load: %v, want *Errors", err)
	}
	var got []string
	for _, one := range list.List {
		got = append(got, one.Position.String())
	}
	want := []string{
		"components/c/manifest.toa.yaml", "components/store.orders/manifest.toa.yaml:2:7",
		"components/store.orders/manifest.toa.yaml:3:1", "components/store.orders/manifest.toa.yaml:4:9",
		"components/store.orders/package.json:1:1",
		"context.toa.yaml:1:7", "context.toa.yaml:2:1", "context.toa.yaml:3:24",
	}
	if !slices.Equal(got, want) {
		t.Errorf("errors at\n%s\nwant\n%s\n%v", strings.Join(got, "\n"), strings.Join(want, "\n"), err)
	}
}

func TestTwins(t *testing.T) {
	tests := []struct{ name, manifest, want string }{
		{"same", "namespace: store\nname: orders\n", `component "store.orders": expected a name of its own, components/other/manifest.toa.yaml has it already`},
		{"case", "namespace: Store\nname: orders\n", `component "store.orders" (in lower case): expected a name of its own, components/other/manifest.toa.yaml has it already`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := workspace.Load(files("components/other/manifest.toa.yaml", test.manifest), "", nil)
			if want := manifestPath + ":2:7: " + test.want + "\n    rename one of them"; err == nil || err.Error() != want {
				t.Errorf("Load: %v, want %s", err, want)
			}
		})
	}
}

func TestBaseImage(t *testing.T) {
	const compositions = "compositions:\n  - {name: edge, components: [a, b]}\n"
	const disagree = `context.toa.yaml:%: composition "edge": expected members with one base image, found `
	tests := []struct{ name, context, a, b, want string }{
		{"runtime", "registry: {}\nruntime: 1\n", "", "", "ghcr.io/toa-io/runtime:1"},
		{"context", "registry: {build: {image: 'base:1'}}\n", "", "", "base:1"},
		{"members", "registry: {build: {image: 'base:1'}}\n", "build: {image: scratch}\n", "build: {image: scratch}\n", "scratch"},
		{"one of two", "registry: {}\n", "build: {image: scratch}\n", "", disagree + `"scratch" and none`},
		{"two", "registry: {}\n", "build: {image: 'y:1'}\n", "build: {image: 'x:1'}\n", disagree + `"x:1" and "y:1"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := fstest.MapFS{
				contextPath:                      {Data: []byte("name: shop\n" + test.context + compositions)},
				"components/a/manifest.toa.yaml": {Data: []byte("name: a\n" + test.a)},
				"components/b/manifest.toa.yaml": {Data: []byte("name: b\n" + test.b)},
			}
			w, err := workspace.Load(fsys, "", nil)
			if want, fails := strings.CutPrefix(test.want, "context.toa.yaml:%: "); fails {
				if err == nil || !strings.HasPrefix(err.Error(), "context.toa.yaml:4:12: "+want) {
					t.Errorf("Load: %v, want %s", err, want)
				}
				return
			}
			if err != nil || w.Compositions[0].Image != test.want {
				t.Errorf("Load: %+v, %v, want %s", w, err, test.want)
			}
		})
	}
}

func TestDerivedOrder(t *testing.T) {
	fsys := files(
		"components/1/manifest.toa.yaml", "name: b\nnamespace: a\n",
		"components/2/manifest.toa.yaml", "name: a\nnamespace: ab\n",
		"components/3/manifest.toa.yaml", "name: Z\n",
	)
	var names []string
	for _, c := range load(t, fsys, "").Compositions {
		names = append(names, c.Name)
	}
	if want := []string{"a-b", "ab-a", "default-z", "store-orders"}; !slices.Equal(names, want) {
		t.Errorf("Compositions = %q, want %q", names, want)
	}
}

func TestModule(t *testing.T) {
	tests := []struct {
		name  string
		files []string
		want  string
	}{
		{"none", nil, "commonjs"},
		{"root", []string{"package.json", `{"type": "module"}`}, "module"},
		{"nearest", []string{"package.json", `{"type": "module"}`, "components/package.json", `{}`}, "commonjs"},
		{"own does not count", []string{packagePath, `{"type": "module"}`}, "commonjs"},
		{"BOM", []string{"package.json", "\xef\xbb\xbf{\"type\": \"module\"}"}, "module"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := load(t, files(test.files...), "").Components[0].Module; got != test.want {
				t.Errorf("Module = %q, want %q", got, test.want)
			}
		})
	}
}

func TestLockfile(t *testing.T) {
	const shrinkwrap, lock = "components/store.orders/npm-shrinkwrap.json", "components/store.orders/package-lock.json"
	tests := []struct {
		name, text, want string
		files            []string
	}{
		{"both", `{"dependencies": {"a": "1"}}`, "npm-shrinkwrap.json", []string{shrinkwrap, "{}", lock, "{}"}},
		{"lock", `{"optionalDependencies": {"a": "1"}}`, "package-lock.json", []string{lock, "{}"}},
		{"none", `{"dependencies": {"a": "1"}}`, "", nil},
		{"nothing to install", `{"devDependencies": {"a": "1"}}`, "", []string{lock, "{}"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := load(t, files(append(test.files, packagePath, test.text)...), "").Components[0]
			installs := test.name != "nothing to install"
			if got.Lock != test.want || !got.HasPackage || got.HasDependencies != installs {
				t.Errorf("Component = %+v, want lock %q", got, test.want)
			}
		})
	}
}

// Keys without effect, and those of older releases, are said once.
// C81: that arguments are seen by all is said, and where.
func TestPlainArgumentsAreNoticed(t *testing.T) {
	for plain, want := range map[string]int{"true": 1, "false": 0} {
		w := load(t, files(contextPath, "name: shop\nregistry: {build: {arguments: [STAGE, MONKEY], plain: "+plain+"}}\n"), "")
		if len(w.Notices) != want || want > 0 && (!strings.Contains(w.Notices[0].Text, "history of images") || w.Notices[0].Positions[0].Line != 2) {
			t.Errorf("plain: %s: notices %v, want %d", plain, w.Notices, want)
		}
	}
}

func TestNotices(t *testing.T) {
	fsys := files(contextPath, `name: shop
registry: {}
packages: components/*
build: {command: make}
environment: local
sql: pg://localhost
annotations: {queues: {}, '@toa.io/extensions.origins': {}}
exposition: {authorities: {}}
`, manifestPath, `namespace: store
name: orders
exposition: {}
extensions: {'@toa.io/extensions.origins': ~}
rc: {}
`)
	var got []string
	for _, notice := range load(t, fsys, "").Notices {
		line := strings.Fields(notice.Text)[0]
		for _, position := range notice.Positions {
			line += " " + strings.TrimPrefix(position.String(), "components/store.orders/")
		}
		got = append(got, line)
	}
	want := []string{
		"build.command context.toa.yaml:4:1",
		"environment context.toa.yaml:5:1",
		"origins manifest.toa.yaml:4:14 context.toa.yaml:7:27",
		"packages context.toa.yaml:3:1",
		"queues context.toa.yaml:7:15",
		"rc manifest.toa.yaml:5:1",
		"sql context.toa.yaml:6:1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("notices\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestNullResourcesAreAnAnswer(t *testing.T) {
	w := load(t, files(contextPath, "name: shop\nregistry: {}\nresources: ~\n"), "")
	if got := w.Context.Resources; got == nil || !got.None {
		t.Errorf("Resources = %+v, want none", got)
	}
}

func TestUnreadableFile(t *testing.T) {
	_, err := workspace.Load(forbidden{files(), manifestPath}, "", nil)
	if want := manifestPath + ": permission denied, expected a file that can be read"; err == nil || err.Error() != want {
		t.Errorf("Load: %v, want %s", err, want)
	}
}

// forbidden refuses to open one file.
type forbidden struct {
	fstest.MapFS
	path string
}

func (f forbidden) Open(name string) (fs.File, error) {
	if name == f.path {
		return nil, &fs.PathError{Op: "open", Path: "/secret/" + name, Err: fs.ErrPermission}
	}
	return f.MapFS.Open(name)
}
