package release_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helm "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"pgregory.net/rapid"

	"toa.io/toa/chart"
	"toa.io/toa/graph"
	"toa.io/toa/release"
	"toa.io/toa/workspace"
)

var update = flag.Bool("update", false, "rewrite golden files")

const digest = "sha256:4355a46b19d348dc2f57c046f8ef63d4538ebb936000f3c9ee954a27460dd865"

// input is a workspace with two compositions of three components.
func input() chart.Input {
	orders := &workspace.Component{ID: "store.orders", Label: "store-orders", Contract: json.RawMessage(`{"operations":{"transit":{"type":"transition"}}}`)}
	carts := &workspace.Component{ID: "store.carts", Label: "store-carts"}
	mail := &workspace.Component{ID: "default.mail", Label: "default-mail"}
	return chart.Input{
		Workspace: &workspace.Workspace{
			Environment: "staging",
			Context: workspace.Context{
				Name: "My_Shop", Version: "1.10.0",
				Registry: workspace.Registry{Base: "registry.example.com", Credentials: "pull-secret"},
			},
			Components: []*workspace.Component{mail, carts, orders},
			Compositions: []*workspace.Composition{
				{Slug: "store", Components: []*workspace.Component{orders, carts}, Replicas: 3},
				{Slug: "default-mail", Components: []*workspace.Component{mail}, Replicas: 2},
			},
		},
		References: map[graph.ID]string{
			"composition/store":        "registry.example.com/my_shop/composition-store:00112233445566778899aabbccddeeff@" + digest,
			"composition/default-mail": "registry.example.com/my_shop/composition-default-mail:1e234567890123456789012345678901@" + digest,
		},
		Versions: map[string]string{"store.orders": "0011", "store.carts": "1e10", "default.mail": "on"},
	}
}

func shop(t tester) *chart.Chart { return filled(t, input()) }

func filled(t tester, in chart.Input) *chart.Chart {
	t.Helper()
	c, err := chart.New(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// everything are values that use all that the templates understand.
func everything() map[string]any {
	return map[string]any{
		"compositions": []any{map[string]any{
			"name":       "edge",
			"image":      "registry.example.com/shop/composition-edge:0011@" + digest,
			"components": []any{"store-orders"},
			"resources":  map[string]any{"cpu": []any{"100m", "1"}, "memory": []any{"128Mi", "256Mi"}},
			"variables": []any{
				map[string]any{"name": "PLAIN", "value": "yes"},
				map[string]any{"name": "EMPTY", "value": ""},
				map[string]any{"name": "SECRET", "secret": map[string]any{"name": "toa-amqp", "key": "password"}},
				map[string]any{"name": "OPTIONAL", "secret": map[string]any{"name": "toa-amqp", "key": "010", "optional": true}},
			},
			"mounts":   []any{map[string]any{"name": "files", "path": "/var/files", "claim": "shop-files"}},
			"replicas": 1000000,
			"backends": []any{map[string]any{"port": 65535, "path": "/"}, map[string]any{"port": 8000, "path": "/a"}},
			"probe":    map[string]any{"path": "/.ready", "port": 8000, "delay": 5},
		}},
	}
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
}

// unpacked reads a chart as Helm does, without a package.
func unpacked(t tester, c *chart.Chart) *helm.Chart {
	t.Helper()
	var files []*loader.BufferedFile
	for _, file := range c.Files {
		files = append(files, &loader.BufferedFile{Name: file.Path, Data: file.Data})
	}
	loaded, err := loader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// load packages a chart and reads it as Helm does.
func load(t *testing.T, c *chart.Chart) *helm.Chart {
	t.Helper()
	r, _ := packaged(t, &release.Packager{Dir: t.TempDir()}, c)
	loaded, err := loader.Load(r.Chart)
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// render is what "helm template" does with a chart and more values.
func render(t tester, c *helm.Chart, more map[string]any) map[string]string {
	t.Helper()
	values, err := chartutil.ToRenderValues(c, more, chartutil.ReleaseOptions{Name: c.Name(), Namespace: "default", IsInstall: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(c, values)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// objects decodes every rendered manifest; a field that Kubernetes does not
// know, or a key that stands twice, fails.
func objects(t tester, files map[string]string) []runtime.Object {
	t.Helper()
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	var all []runtime.Object
	for _, path := range slices.Sorted(maps.Keys(files)) {
		documents := releaseutil.SplitManifests(files[path])
		names := slices.Collect(maps.Keys(documents))
		slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })
		for _, name := range names {
			object, _, err := decoder.Decode([]byte(documents[name]), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", path, err, documents[name])
			}
			all = append(all, object)
		}
	}
	return all
}

// of picks the objects of one type.
func of[T runtime.Object](all []runtime.Object) []T {
	var some []T
	for _, object := range all {
		if o, ok := object.(T); ok {
			some = append(some, o)
		}
	}
	return some
}

func TestChartLints(t *testing.T) {
	expanded := t.TempDir()
	r, _ := packaged(t, &release.Packager{Dir: t.TempDir()}, shop(t))
	if err := chartutil.ExpandFile(expanded, r.Chart); err != nil {
		t.Fatal(err)
	}
	kubernetes := &chartutil.KubeVersion{Version: "v1.37.0", Major: "1", Minor: "37"}
	for name, dir := range map[string]string{
		"as it stands": filepath.Join("..", "chart"),
		"packaged":     filepath.Join(expanded, "my-shop"),
	} {
		for values, more := range map[string]map[string]any{"defaults": nil, "everything": everything()} {
			t.Run(name+" with "+values, func(t *testing.T) {
				linter := lint.AllWithKubeVersion(dir, more, "default", kubernetes)
				for _, message := range linter.Messages {
					if message.Severity > support.InfoSev {
						t.Error(message)
					}
				}
			})
		}
	}
}

// The chart that stands in the repository renders without a workspace, and
// Helm sees nothing of the Go code beside it.
func TestChartRendersAsItStands(t *testing.T) {
	loaded, err := loader.Load(filepath.Join("..", "chart"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range loaded.Files {
		if file.Name != ".helmignore" {
			t.Errorf("the chart contains %s", file.Name)
		}
	}
	all := objects(t, render(t, loaded, nil))
	if len(all) != 1 || len(of[*corev1.ConfigMap](all)) != 1 {
		t.Errorf("defaults render %d objects, want the component map", len(all))
	}
}

func TestRenderGolden(t *testing.T) {
	golden(t, "manifests.yaml", render(t, load(t, shop(t)), nil))
}

func TestRenderEverythingGolden(t *testing.T) {
	golden(t, "everything.yaml", render(t, load(t, shop(t)), everything()))
}

func TestRenderedObjects(t *testing.T) {
	all := objects(t, render(t, load(t, shop(t)), nil))
	var got []string
	for _, object := range all {
		accessor := object.(interface{ GetName() string })
		got = append(got, object.GetObjectKind().GroupVersionKind().Kind+" "+accessor.GetName())
	}
	want := []string{
		"Service store-orders", "Service store-carts", "Service default-mail",
		"Deployment composition-store", "Deployment composition-default-mail", "ConfigMap components",
	}
	if !slices.Equal(got, want) {
		t.Errorf("objects are %q, want %q", got, want)
	}
}

func TestServicesSelectPods(t *testing.T) {
	for name, in := range workspaces() {
		t.Run(name, func(t *testing.T) {
			all := objects(t, render(t, load(t, filled(t, in)), nil))
			for _, service := range of[*corev1.Service](all) {
				found := false
				for _, deployment := range of[*appsv1.Deployment](all) {
					found = found || contains(deployment.Spec.Template.Labels, service.Spec.Selector)
				}
				if !found {
					t.Errorf("service %s selects %v, which no pod has", service.Name, service.Spec.Selector)
				}
			}
			for _, deployment := range of[*appsv1.Deployment](all) {
				if !contains(deployment.Spec.Template.Labels, deployment.Spec.Selector.MatchLabels) {
					t.Errorf("deployment %s does not select its own pods", deployment.Name)
				}
			}
		})
	}
}

// Kubernetes refuses to change a selector: no release may move one.
func TestSelectorsSurviveReleases(t *testing.T) {
	before := selectors(t, input())
	next := input()
	next.Workspace.Context.Version = "2.0.0"
	next.Workspace.Environment = "production"
	for id, reference := range next.References {
		next.References[id] = strings.Replace(reference, ":0", ":f", 1)
	}
	for id := range next.Versions {
		next.Versions[id] = "ffff"
	}
	added := &workspace.Component{ID: "store.coupons", Label: "store-coupons"}
	next.Workspace.Components = append(next.Workspace.Components, added)
	next.Workspace.Compositions[0].Components = append(next.Workspace.Compositions[0].Components, added)
	next.Versions[added.ID] = "0"
	after := selectors(t, next)
	for name, selector := range before {
		if after[name] != selector {
			t.Errorf("selector of %s was %s and becomes %s", name, selector, after[name])
		}
	}
}

// selectors are those of all Deployments and Services.
func selectors(t *testing.T, in chart.Input) map[string]string {
	t.Helper()
	all := map[string]string{}
	rendered := objects(t, render(t, unpacked(t, filled(t, in)), nil))
	for _, d := range of[*appsv1.Deployment](rendered) {
		all["Deployment "+d.Name] = fmt.Sprint(d.Spec.Selector.MatchLabels, d.Spec.Selector.MatchExpressions)
	}
	for _, s := range of[*corev1.Service](rendered) {
		all["Service "+s.Name] = fmt.Sprint(s.Spec.Selector)
	}
	return all
}

// A change of what another component declares must not restart anything.
func TestPodsDoNotDependOnTheMap(t *testing.T) {
	in := input()
	in.Workspace.Components[1].Contract = json.RawMessage(`{"events":{"emptied":{}}}`)
	before := of[*appsv1.Deployment](objects(t, render(t, load(t, shop(t)), nil)))
	after := of[*appsv1.Deployment](objects(t, render(t, load(t, filled(t, in)), nil)))
	for i := range before {
		if before[i].Spec.Template.String() != after[i].Spec.Template.String() {
			t.Errorf("pods of %s change with the map", before[i].Name)
		}
	}
}

func TestMapArrives(t *testing.T) {
	small, large := input(), input()
	for i := range 4000 {
		id := fmt.Sprintf("bulk.c%04d", i)
		large.Workspace.Components = append(large.Workspace.Components, &workspace.Component{
			ID: id, Label: fmt.Sprintf("bulk-c%04d", i), Contract: json.RawMessage(`{"description":"` + strings.Repeat("every day ", 20) + `"}`),
		})
		large.Versions[id] = fmt.Sprintf("%032x", i)
	}
	for name, in := range map[string]chart.Input{"plain": small, "compressed": large} {
		t.Run(name, func(t *testing.T) {
			all := objects(t, render(t, load(t, filled(t, in)), nil))
			file := mapFile(t, of[*corev1.ConfigMap](all)[0], chart.MapPath(in.Workspace))
			var got map[string]struct{ Version string }
			if err := json.Unmarshal(file, &got); err != nil {
				t.Fatal(err)
			}
			for id, version := range in.Versions {
				if got[id].Version != version {
					t.Errorf("map has version %q of %s, want %q", got[id].Version, id, version)
				}
			}
			for _, deployment := range of[*appsv1.Deployment](all) {
				mount := deployment.Spec.Template.Spec.Containers[0].VolumeMounts[0]
				if mount.MountPath != filepath.Dir(chart.MapPath(in.Workspace)) || !mount.ReadOnly {
					t.Errorf("map of %s is mounted as %+v", deployment.Name, mount)
				}
			}
		})
	}
}

// mapFile is the file that a pod sees at path.
func mapFile(t *testing.T, config *corev1.ConfigMap, path string) []byte {
	t.Helper()
	if len(config.Data)+len(config.BinaryData) != 1 {
		t.Fatalf("config map has %d and %d files, want one", len(config.Data), len(config.BinaryData))
	}
	if plain, ok := config.Data[filepath.Base(path)]; ok {
		return []byte(plain)
	}
	zip, err := gzip.NewReader(bytes.NewReader(config.BinaryData[filepath.Base(path)]))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Values that a reader of YAML or a template would take for something else.
var tricky = []string{
	"", "~", "null", "on", "no", "010", "1e6", "0x1F", "1_000", ".inf", "190:20:30", "2001-12-14", "a: b", "a #b", "- a", "{a}", "*a", "&a",
	"{{ .Values.credentials }}", "}}", "---", "\n---\nkind: Pod\n", "a\nb", "\n", "\r\n", "\t", " a ", "'", `"`, `\`, `\n`, "a\"\n  - name: B",
	"\x00", "\x1b[31m", "\x7f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\uffff", "😀", "заказы", "<&>", "%!s(nil)", "$(HOME)", "$", "$$", "$$(HOME)", "$(", "$é", "$a",
}

// Whatever a variable holds arrives as it is, and adds no object.
func FuzzVariables(f *testing.F) {
	for _, value := range append(tricky, strings.Repeat("$(a) \"\n", 8<<10)) {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		checkVariable(t, strings.ToValidUTF8(value, "\ufffd"))
	})
}

func TestVariablesArrive(t *testing.T) {
	joined := rapid.Map(rapid.SliceOf(rapid.SampledFrom(tricky)), func(parts []string) string { return strings.Join(parts, "") })
	value := rapid.OneOf(rapid.String(), joined)
	rapid.Check(t, func(t *rapid.T) { checkVariable(t, value.Draw(t, "value")) })
}

func checkVariable(t tester, value string) {
	t.Helper()
	in := input()
	in.Workspace.Environment = value
	all := objects(t, render(t, unpacked(t, filled(t, in)), nil))
	if len(all) != 6 {
		t.Fatalf("with %q there are %d objects, want 6", value, len(all))
	}
	for _, deployment := range of[*appsv1.Deployment](all) {
		env := deployment.Spec.Template.Spec.Containers[0].Env
		if len(env) != 2 || env[0].Name != "TOA_CONTEXT" || env[1].Name != "TOA_ENV" {
			t.Fatalf("variables are %q, want TOA_CONTEXT and TOA_ENV", env)
		}
		if got := arrives(env[1].Value); got != value {
			t.Errorf("a process sees %q, want %q", got, value)
		}
	}
}

func golden(t *testing.T, name string, files map[string]string) {
	t.Helper()
	objects(t, files)
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if body := strings.TrimSpace(files[path]); body != "" {
			fmt.Fprintf(&b, "# Source: %s\n%s\n", path, body)
		}
	}
	compare(t, name, []byte(b.String()))
}

// compare fails unless the golden file holds the same.
func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("result differs from %s (-update rewrites it):\n%s", path, got)
	}
}

func contains(labels, some map[string]string) bool {
	for key, value := range some {
		if labels[key] != value {
			return false
		}
	}
	return true
}
