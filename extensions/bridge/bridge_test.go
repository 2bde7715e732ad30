package bridge_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toa.io/toa/extensions"
	"toa.io/toa/extensions/bridge"
)

// installed is a root with packages of files.
func installed(t *testing.T, packages map[string]map[string]string) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("node is not installed")
	}
	root := t.TempDir()
	for name, files := range packages {
		for file, content := range files {
			path := filepath.Join(root, "node_modules", name, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

const definition = `
console.log('this is no answer')
exports.manifest = (declaration) => ({ ...declaration, seen: true })
exports.annotation = (annotation) => annotation ?? { size: 'unknown' }
exports.deployment = (instances, annotation, all) => ({
  variables: {
    global: [{ name: 'SIZE', value: String(annotation.size) }, { name: 'ALL', value: String(all.length) }],
    [instances[0].locator.label]: [{ name: 'SEEN', value: JSON.stringify(instances[0].manifest) },
      { name: 'KEY', secret: { name: 'acme', key: 'key', optional: true } }]
  },
  services: [{ group: 'acme', name: 'thing', version: '1.0.0', port: 9000, resources: null, probe: false,
    ingress: { path: '/acme' }, variables: [{ name: 'SECRET', value: process.env.TOA_SECRET ?? 'unknown' }] }],
  probe: { path: '/ok', port: 1 },
  events: ['a.b.c']
})
exports.installs = (instance) => instance === undefined ? { server: '1.0.0' } : { client: '2.0.0' }
exports.keys = { other: { deployment: () => ({ events: ['other.a.b'] }) } }
`

func request() extensions.Request {
	peers := []extensions.Peer{{
		Locator:  extensions.Locator{ID: "shop.orders", Label: "shop-orders"},
		Manifest: []byte(`{"a":1}`), Component: []byte("null"),
	}}
	return extensions.Request{Instances: peers, All: peers}
}

func TestDescribe(t *testing.T) {
	t.Setenv("TOA_SECRET", "hidden")
	for form, files := range map[string]map[string]string{
		"definition.js": {"package.json": `{"name":"@acme/thing","main":"none.js"}`, "definition.js": definition},
		"entry":         {"package.json": `{"name":"@acme/thing","main":"lib/main.js"}`, "lib/main.js": definition},
		"ESM": {
			"package.json": `{"name":"@acme/thing","type":"module","exports":"./main.js"}`,
			"main.js":      strings.ReplaceAll(definition, "exports.", "export const "),
		},
	} {
		t.Run(form, func(t *testing.T) {
			n := &bridge.Node{Root: installed(t, map[string]map[string]string{"@acme/thing": files})}
			t.Cleanup(func() { _ = n.Close() })
			d, err := n.Describe(t.Context(), "@acme/thing", "components/shop.orders", request())
			if err != nil {
				t.Fatal(err)
			}
			check(t, d)
			other, err := n.Describe(t.Context(), "@acme/thing#other", ".", request())
			if err != nil || len(other.Events) != 1 || other.Events[0] != "other.a.b" {
				t.Errorf("another declaration: %v, %v", other, err)
			}
		})
	}
}

func check(t *testing.T, d extensions.Declaration) {
	t.Helper()
	global, own := d.Variables[extensions.Global], d.Variables["shop-orders"]
	if len(global) != 2 || global[0].Value != "unknown" || global[1].Value != "1" {
		t.Errorf("global: %v", global)
	}
	if len(own) != 2 || own[0].Value != `{"a":1,"seen":true}` || *own[1].Secret != (extensions.Secret{Name: "acme", Key: "key", Optional: true}) {
		t.Errorf("own: %v", own)
	}
	if len(d.Services) != 1 {
		t.Fatalf("services: %v", d.Services)
	}
	s := d.Services[0]
	if s.ID() != "acme-thing" || s.Port != 9000 || s.Ingress.Path != "/acme" || s.Resources == nil || !s.Probe.Off {
		t.Errorf("service: %+v", s)
	}
	if s.Variables[0].Value != "unknown" {
		t.Error("the process knows a secret")
	}
	if d.Probe == nil || d.Probe.Port != 1 || d.Installs["shop-orders"]["client"] != "2.0.0" || d.Installs["acme-thing"]["server"] != "1.0.0" {
		t.Errorf("probe %v, installs %v", d.Probe, d.Installs)
	}
}

func TestFailures(t *testing.T) {
	file := func(code string) map[string]string {
		return map[string]string{"package.json": `{"name":"p"}`, "index.js": code}
	}
	n := &bridge.Node{Timeout: time.Minute, Root: installed(t, map[string]map[string]string{
		"throws": file("exports.deployment = () => { throw new Error('size is missing') }"),
		"broken": file("syntax error"), "exits": file("process.exit(1)"),
		"number": file("exports.deployment = () => ({ variables: { global: [{ name: 'A', value: 1 }] } })"),
		"silent": file(""), "keyless": file(""),
	})}
	t.Cleanup(func() { _ = n.Close() })
	for name, want := range map[string]string{
		"throws": "size is missing", "broken": "Unexpected identifier", "exits": "node ended", "keyless#a": "it has no declaration a",
		"number": `expected the value of variable "A" to be text`,
	} {
		if _, err := n.Describe(t.Context(), name, ".", request()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q, got %v", name, want, err)
		}
	}
	if d, err := n.Describe(t.Context(), "silent", ".", request()); err != nil || len(d.Variables) != 0 {
		t.Errorf("a package that needs nothing: %v, %v", d, err)
	}
	if _, err := n.Describe(t.Context(), "absent", ".", request()); !errors.Is(err, extensions.ErrUndescribed) {
		t.Errorf("a package that is not there: %v", err)
	}
}

func TestSlowPackages(t *testing.T) {
	root := installed(t, map[string]map[string]string{"p": {
		"package.json": `{"name":"p"}`, "index.js": "exports.deployment = () => { while (true); }",
	}})
	n := &bridge.Node{Root: root, Timeout: 500 * time.Millisecond}
	if _, err := n.Describe(t.Context(), "p", ".", request()); err == nil || !strings.Contains(err.Error(), "in time") {
		t.Errorf("a package that thinks for ever: %v", err)
	}
	n.Timeout = time.Minute
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if _, err := n.Describe(ctx, "p", ".", request()); err == nil || err.Error() != "interrupted" {
		t.Errorf("after cancelling: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
}

// kept is a Memo that counts.
type kept struct {
	answers map[string][]byte
	keeps   int
}

func (k *kept) Recall(key string) []byte { return k.answers[key] }

func (k *kept) Keep(key string, answer []byte) {
	k.keeps++
	k.answers[key] = answer
}

func TestMemo(t *testing.T) {
	root := installed(t, map[string]map[string]string{"p": {"package.json": `{"name":"p"}`, "index.js": definition}})
	memo := &kept{answers: map[string][]byte{}}
	n := &bridge.Node{Root: root, Memo: memo}
	t.Cleanup(func() { _ = n.Close() })
	ask := func() {
		t.Helper()
		d, err := n.Describe(t.Context(), "p", ".", request())
		if err != nil {
			t.Fatal(err)
		}
		check(t, d)
	}
	ask()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "") // without Node
	ask()
	if memo.keeps != 1 {
		t.Errorf("kept %d times, want once", memo.keeps)
	}
	if err := os.WriteFile(filepath.Join(root, "node_modules/p/index.js"), []byte("exports.a = 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	var missing *bridge.MissingNodeError
	if _, err := n.Describe(t.Context(), "p", ".", request()); !errors.As(err, &missing) || missing.Hint() == "" {
		t.Errorf("a changed package without Node: %v", err)
	}
}
