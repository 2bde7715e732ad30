package workspace_test

import (
	"errors"
	"strings"
	"testing"
	"testing/fstest"

	"toa.io/toa/workspace"
)

const (
	contextPath  = "context.toa.yaml"
	manifestPath = "components/store.orders/manifest.toa.yaml"
	packagePath  = "components/store.orders/package.json"
)

// files is a small valid workspace with some files replaced.
func files(replaced ...string) fstest.MapFS {
	fsys := fstest.MapFS{
		contextPath:  {Data: []byte("name: shop\nregistry: {}\n")},
		manifestPath: {Data: []byte("namespace: store\nname: orders\n")},
	}
	for i := 0; i < len(replaced); i += 2 {
		fsys[replaced[i]] = &fstest.MapFile{Data: []byte(replaced[i+1])}
	}
	return fsys
}

func load(t *testing.T, fsys fstest.MapFS, environment string) *workspace.Workspace {
	t.Helper()
	w, err := workspace.Load(fsys, environment, nil)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return w
}

// Each of these has one mistake, and gets one error that says what it is.
var broken = []struct{ name, file, text, want string }{
	// The text itself.
	{"empty context", contextPath, "", "context.toa.yaml:1:1: the file is empty, expected an object"},
	{"comments only", contextPath, "# nothing\n", "context.toa.yaml:1:1: the file is empty, expected an object"},
	{"null document", contextPath, "---\n~\n", "context.toa.yaml:1:1: the file is empty, expected an object"},
	{"scalar root", contextPath, "shop\n", "context.toa.yaml:1:1: expected an object, found text"},
	{"list root", contextPath, "- name: shop\n", "context.toa.yaml:1:1: expected an object, found a list"},
	{"empty manifest", manifestPath, "", "components/store.orders/manifest.toa.yaml:1:1: the file is empty, expected an object"},
	{"tab indents", contextPath, "name: shop\nregistry:\n\tbase: example\n", "context.toa.yaml:3:1: a tab indents the line, expected spaces\n    indent with spaces"},
	{"tab indents after spaces", contextPath, "name: shop\nregistry:\n  build:\n  \timage: scratch\n", "context.toa.yaml:4:3: a tab indents the line, expected spaces\n    indent with spaces"},
	{"several documents", contextPath, "name: shop\nregistry: {}\n---\nname: other\n", "context.toa.yaml:3:1: the file holds several documents, expected one\n    remove the `---` line or what follows it"},
	{"broken second document", contextPath, "name: shop\nregistry: {}\n---\n{\n", "context.toa.yaml:3:1: the file holds several documents, expected one\n    remove the `---` line or what follows it"},
	{"NUL", contextPath, "name: shop\ndescription: a\x00b\n", "context.toa.yaml:2:15: control character U+0000, expected text"},
	{"escape sequence", contextPath, "name: shop # \x1b[31m\n", "context.toa.yaml:1:14: control character U+001B, expected text"},
	{"not UTF-8", contextPath, "name: shop\ndescription: ü\xff\n", "context.toa.yaml:2:15: byte 0xff is not UTF-8, expected UTF-8 text"},
	{"UTF-16", contextPath, "\xff\xfen\x00a\x00", "context.toa.yaml:1:1: byte 0xff is not UTF-8, expected UTF-8 text"},
	{"mistake behind a BOM", contextPath, "\xef\xbb\xbfname: 7\nregistry: {}\n", "context.toa.yaml:1:7: name: expected words of letters and digits joined by hyphens, found \"7\""},
	{"open bracket", contextPath, "name: shop\nregistry: {base: example\nversion: 1.0.0\n", "context.toa.yaml:2:1: not YAML: did not find expected ',' or '}'"},
	{"open quote", contextPath, "name: shop\nversion: \"1.0.0\nregistry: {}\n", "context.toa.yaml:2:1: not YAML: found unexpected end of stream"},
	{"no colon", contextPath, "name: shop\nregistry\nversion: 1.0.0\n", "context.toa.yaml:2:1: not YAML: could not find expected ':'"},
	{"odd indentation", contextPath, "name: shop\n  registry: {}\n", "context.toa.yaml:2:3: not YAML: mapping values are not allowed in this context"},
	{"error behind a long list", contextPath, "name: shop\nregistry:\n  platforms: [\n    linux/amd64,\n    linux/arm64,\n  ]\n build: {}\n", "context.toa.yaml:7:2: not YAML: did not find expected key"},
	{"unknown anchor", contextPath, "name: *shop\nregistry: {}\n", "context.toa.yaml:1:1: not YAML: unknown anchor 'shop' referenced"},
	{"anchor that holds itself", contextPath, "name: shop\nregistry: {}\nannotations: &a\n  b: *a\n", "context.toa.yaml:4:6: anchor \"a\" holds itself"},
	{"alias bomb", contextPath, "name: shop\nregistry: {}\nannotations:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n  b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n" +
		"  c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n  d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n  e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n", "context.toa.yaml:8:38: aliases expand to more than 100000 values"},
	{"nested too deep", contextPath, "name: shop\nregistry: {}\nannotations: {a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}\n", "context.toa.yaml:3:116: nested deeper than 100 levels"},
	{"brackets without end", contextPath, strings.Repeat("[", 20000), "context.toa.yaml:1:1: not YAML: exceeded max depth of 10000"},
	{"custom tag", contextPath, "name: !name shop\nregistry: {}\n", "context.toa.yaml:1:7: tag \"!name\", expected a value without one\n    remove the tag"},
	{"number by tag", contextPath, "name: shop\nversion: !!int 1\nregistry: {}\n", "context.toa.yaml:2:10: tag \"!!int\", expected a value without one\n    remove the tag"},
	{"object as a key", contextPath, "name: shop\nregistry: {}\n? {a: b}\n: c\n", "context.toa.yaml:3:3: expected text as a key, found an object"},
	{"empty key", contextPath, "name: shop\nregistry: {}\n: x\n", "context.toa.yaml:3:1: not YAML: did not find expected key"},
	{"merge of text", contextPath, "name: shop\nregistry:\n  <<: text\n", "context.toa.yaml:3:7: expected an object or a list of objects to merge, found text"},
	{"two merges", contextPath, "name: shop\nregistry:\n  <<: {}\n  <<: {}\n", "context.toa.yaml:4:3: duplicate key \"<<\", the first is in line 3\n    keep one of them"},
	{"too large a manifest", manifestPath, "name: orders\n" + strings.Repeat("#", 1<<20), "components/store.orders/manifest.toa.yaml: expected a file of 1 MiB at most, found a larger one"},

	// Keys.
	{"duplicate key", contextPath, "name: shop\nregistry: {}\nname: other\n", "context.toa.yaml:3:1: duplicate key \"name\", the first is in line 1\n    keep one of them"},
	{"duplicate key below", contextPath, "name: shop\nregistry: {}\nannotations:\n  a: {b: 1, b: 2}\n", "context.toa.yaml:4:13: duplicate key \"b\", the first is in line 4\n    keep one of them"},
	{"duplicate key of an environment", contextPath, "name: shop\nname@dev: a\nname@dev: b\nregistry: {}\n", "context.toa.yaml:3:1: duplicate key \"name@dev\", the first is in line 2\n    keep one of them"},
	{"no environment behind the @", contextPath, "name: shop\nname@: a\nregistry: {}\n", "context.toa.yaml:2:1: key \"name@\" names no environment after the @"},
	{"unknown key", contextPath, "name: shop\nregsitry: {}\nregistry: {}\n", "context.toa.yaml:2:1: unknown key \"regsitry\", expected a known one\n    did you mean \"registry\"?"},
	{"unknown key like none", contextPath, "name: shop\nregistry: {build: {layers: 3}}\n", "context.toa.yaml:2:20: unknown key \"layers\" in registry.build, expected arguments, image, plain, run, scripts"},
	{"unknown key of another environment", contextPath, "name: shop\nregistry: {bse@production: example}\n", "context.toa.yaml:2:12: unknown key \"bse\" in registry, expected base, build, credentials, insecure, platforms, services\n    did you mean \"base\"?"},
	{"package at the top", contextPath, "name: shop\nregistry: {}\n'@toa.io/extensions.exposition': {}\n", "context.toa.yaml:3:1: unknown key \"@toa.io/extensions.exposition\", expected a known one\n    the name of a package belongs under `annotations` of a context or `extensions` of a manifest"},
	{"terminal colours in a key", contextPath, "name: shop\nregistry: {}\n\"\\e[31mred\": 1\n", "context.toa.yaml:3:1: unknown key \"\\x1b[31mred\", expected a known one\n    known keys: addressed, amqp, annotations, atomicity, bash, build, builder, cache, cadence, compositions, configuration, continuity, convergence, description, environment, events, evicted, exposition, fetch, http, inbox, ingress, introspection, mongodb, mono, name, node, origins, outbox, packages, queues, realtime, registry, release, resources, runtime, sql, stash, state, storages, telemetry, version"},
	{"overlay in a manifest", manifestPath, "namespace: store\nname: orders\nversion@dev: 1\n", "components/store.orders/manifest.toa.yaml:3:1: unknown key \"version@dev\", expected a known one\n    a manifest has no overlays: state `version` without the environment, or put what differs into context.toa.yaml"},
	{"unknown key of a manifest", manifestPath, "namespace: store\nname: orders\noperation: {}\n", "components/store.orders/manifest.toa.yaml:3:1: unknown key \"operation\", expected a known one\n    did you mean \"operations\"?"},
	{"arguments of a component", manifestPath, "namespace: store\nname: orders\nbuild:\n  arguments: [TOKEN]\n", "components/store.orders/manifest.toa.yaml:4:3: build.arguments: expected in the context only, where all images get them\n    state it under `registry.build` of context.toa.yaml"},
	{"no name", contextPath, "registry: {}\n", "context.toa.yaml:1:1: name is missing, expected it to be stated"},
	{"no registry", contextPath, "name: shop\n", "context.toa.yaml:1:1: registry is missing, expected it to be stated"},
	{"composition without components", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - name: edge\n", "context.toa.yaml:4:5: compositions[0].components is missing, expected it to be stated"},

	// Values of a context.
	{"null name", contextPath, "name:\nregistry: {}\n", "context.toa.yaml:1:1: name: expected text, found null"},
	{"flag as a name", contextPath, "name: true\nregistry: {}\n", "context.toa.yaml:1:7: name: expected text, found true\n    put quotes around true if that is the text"},
	{"name with a space", contextPath, "name: my shop\nregistry: {}\n", "context.toa.yaml:1:7: name: expected words of letters and digits joined by hyphens, found \"my shop\""},
	{"name that ends with a hyphen", contextPath, "name: shop-\nregistry: {}\n", "context.toa.yaml:1:7: name: expected words of letters and digits joined by hyphens, found \"shop-\""},
	{"name that no registry takes", contextPath, "name: my___shop\nregistry: {}\n", "context.toa.yaml:1:7: name: expected single or double underscores only, found \"my___shop\", which no registry takes"},
	{"name too long for a registry", contextPath, "name: " + strings.Repeat("a", 210) + "\nregistry: {}\n", "context.toa.yaml:1:7: name: expected repositories of 255 characters at most, found 264\n    shorten name or registry.base"},
	{"list as a version", contextPath, "name: shop\nversion: [1, 0]\nregistry: {}\n", "context.toa.yaml:2:10: version: expected text, found a list"},
	{"packages above", contextPath, "name: shop\nregistry: {}\npackages: ../*\n", "context.toa.yaml:3:11: packages: expected a relative path or glob without `..`, found \"../*\""},
	{"packages absolute", contextPath, "name: shop\nregistry: {}\npackages: /etc/*\n", "context.toa.yaml:3:11: packages: expected a relative path or glob without `..`, found \"/etc/*\""},
	{"packages of any depth", contextPath, "name: shop\nregistry: {}\npackages: components/**\n", "context.toa.yaml:3:11: packages: expected a glob that names each level of directories, found \"components/**\""},
	{"packages that is the root", contextPath, "name: shop\nregistry: {}\npackages: ./\n", "context.toa.yaml:3:11: packages: expected a glob of directories below the context, found \"./\""},
	{"packages with an open bracket", contextPath, "name: shop\nregistry: {}\npackages: '[a'\n", "context.toa.yaml:3:11: packages: expected a glob whose brackets are closed, found \"[a\""},
	{"packages that match nothing", contextPath, "name: shop\nregistry: {}\npackages: parts/*\n", "context.toa.yaml: expected at least one component, found no directory that matches \"parts/*\"\n    make a directory there that holds a manifest.toa.yaml"},
	{"null runtime", contextPath, "name: shop\nregistry: {}\nruntime: ~\n", "context.toa.yaml:3:10: runtime: expected a version or an object, found null"},
	{"runtime that is no version", contextPath, "name: shop\nregistry: {}\nruntime: the newest\n", "context.toa.yaml:3:10: runtime: expected a version, found \"the newest\""},
	{"proxy that is no URI", contextPath, "name: shop\nregistry: {}\nruntime: {proxy: localhost}\n", "context.toa.yaml:3:18: runtime.proxy: expected a URI such as https://registry.npmjs.org, found \"localhost\""},
	{"password in a URI", contextPath, "name: shop\nregistry: {}\nruntime: {registry: 'https://me:hunter2@example.com'}\n", "context.toa.yaml:3:21: runtime.registry: expected a URI without user and password\n    leave user and password to npm's own configuration"},
	{"null registry", contextPath, "name: shop\nregistry: ~\n", "context.toa.yaml:2:11: registry: expected text or an object, found null"},
	{"scheme in a base", contextPath, "name: shop\nregistry: https://example.com\n", "context.toa.yaml:2:11: registry: expected host or host/path in lower case, without a scheme, found \"https://example.com\""},
	{"upper case in a base", contextPath, "name: shop\nregistry: example.com/Shop\n", "context.toa.yaml:2:11: registry: expected host or host/path in lower case, without a scheme, found \"example.com/Shop\""},
	{"password in a base", contextPath, "name: shop\nregistry: 'me:hunter2@example.com'\n", "context.toa.yaml:2:11: registry: expected host or host/path in lower case, without a scheme, found text with a colon before an @, not shown"},
	{"platform without architecture", contextPath, "name: shop\nregistry: {platforms: [linux/amd64, linux]}\n", "context.toa.yaml:2:37: registry.platforms[1]: expected os/arch or os/arch/variant, found \"linux\""},
	{"no platforms", contextPath, "name: shop\nregistry: {platforms: []}\n", "context.toa.yaml:2:23: registry.platforms: expected at least one item, found an empty list\n    remove the key if there is nothing to list"},
	{"platform twice", contextPath, "name: shop\nregistry: {platforms: [linux/amd64, linux/amd64]}\n", "context.toa.yaml:2:37: registry.platforms[1]: expected every item once, found \"linux/amd64\" again\n    keep one of them"},
	{"image that is an option", contextPath, "name: shop\nregistry: {build: {image: --rm}}\n", "context.toa.yaml:2:27: registry.build.image: expected an image reference, found \"--rm\""},
	{"image with a space", contextPath, "name: shop\nregistry: {build: {image: 'node: 24'}}\n", "context.toa.yaml:2:27: registry.build.image: expected an image reference, found \"node: 24\""},
	{"image with a scheme", contextPath, "name: shop\nregistry: {build: {image: 'docker://node:24'}}\n", "context.toa.yaml:2:27: registry.build.image: expected an image reference without a scheme, found \"docker://node:24\""},
	{"layout without a directory", contextPath, "name: shop\nregistry: {build: {image: 'oci-layout://'}}\n", "context.toa.yaml:2:27: registry.build.image: expected oci-layout:// and a directory, found \"oci-layout://\""},
	{"argument that is no variable", contextPath, "name: shop\nregistry: {build: {arguments: [NPM-TOKEN]}}\n", "context.toa.yaml:2:32: registry.build.arguments[0]: expected the name of a variable, found \"NPM-TOKEN\""},
	{"plain secret", contextPath, "name: shop\nregistry:\n  build:\n    plain: true\n    arguments: [STAGE, NPM_TOKEN]\n", "context.toa.yaml:4:5: registry.build.plain: expected arguments that are no secrets, found \"NPM_TOKEN\"\n    remove `plain`: the lines see the argument all the same"},
	{"one argument without a list", contextPath, "name: shop\nregistry: {build: {arguments: NPM_TOKEN}}\n", "context.toa.yaml:2:31: registry.build.arguments: expected a list, found text"},
	{"scripts", contextPath, "name: shop\nregistry: {build: {scripts: never}}\n", "context.toa.yaml:2:29: registry.build.scripts: expected run or ignore, found \"never\""},
	{"services", contextPath, "name: shop\nregistry: {services: built}\n", "context.toa.yaml:2:22: registry.services: expected build or published, found \"built\""},
	{"null description", contextPath, "name: shop\nregistry: {}\ndescription:\n", "context.toa.yaml:3:1: description: expected text, found null"},
	{"timeout without a unit", contextPath, "name: shop\nregistry: {}\nrelease: {timeout: 10}\n", "context.toa.yaml:3:20: release.timeout: expected a duration such as 90s or 10m, found a number"},
	{"negative timeout", contextPath, "name: shop\nregistry: {}\nrelease: {timeout: -1m}\n", "context.toa.yaml:3:20: release.timeout: expected a duration such as 90s or 10m, found \"-1m\""},
	{"history below one", contextPath, "name: shop\nregistry: {}\nrelease: {history: 0}\n", "context.toa.yaml:3:20: release.history: expected a whole number, 1 or more, found \"0\""},
	{"history too large", contextPath, "name: shop\nregistry: {}\nrelease: {history: 99999999999999999999}\n", "context.toa.yaml:3:20: release.history: expected a whole number, 1 or more, found a number"},
	{"wait that is text", contextPath, "name: shop\nregistry: {}\nrelease: {wait: 'yes'}\n", "context.toa.yaml:3:17: release.wait: expected true or false, found text"},
	{"namespace in upper case", contextPath, "name: shop\nregistry: {}\nrelease: {namespace: Shop}\n", "context.toa.yaml:3:22: release.namespace: expected the name of a namespace, found \"Shop\""},
	{"builder of another kind", contextPath, "name: shop\nregistry: {}\nbuilder: {kind: podman}\n", "context.toa.yaml:3:17: builder.kind: expected auto or native or buildkit or docker, found \"podman\""},
	{"cache that is a path", contextPath, "name: shop\nregistry: {}\ncache: /tmp\n", "context.toa.yaml:3:8: cache: expected an object, found text"},
	{"interval too short", contextPath, "name: shop\nregistry: {}\natomicity: {redis: 'redis://x', interval: 10}\n", "context.toa.yaml:3:43: atomicity.interval: expected a whole number, 100 or more, found \"10\""},
	{"atomicity without redis", contextPath, "name: shop\nregistry: {}\natomicity: {interval: 100}\n", "context.toa.yaml:3:12: atomicity.redis is missing, expected it to be stated"},
	{"one resource of two", contextPath, "name: shop\nregistry: {}\nresources: {cpu: [100m]}\n", "context.toa.yaml:3:18: resources.cpu: expected a list of two, a request and a limit, found a list\n    state both: [request, limit]"},
	{"evicted nothing", contextPath, "name: shop\nregistry: {}\nevicted: {components: []}\n", "context.toa.yaml:3:23: evicted.components: expected at least one item, found an empty list\n    remove the key if there is nothing to list"},
	{"ingress with one host", contextPath, "name: shop\nregistry: {}\ningress: {hosts: example.com}\n", "context.toa.yaml:3:18: ingress.hosts: expected a list, found text"},

	// Keys of packages, resources and delivery.
	{"an even number of addresses", contextPath, "name: shop\nregistry: {}\natomicity: {redis: ['redis://a', 'redis://b']}\n", "context.toa.yaml:3:20: atomicity.redis: expected an odd number of addresses, found 2\n    add one or remove one"},
	{"address with a space", contextPath, "name: shop\nregistry: {}\natomicity: {redis: 'redis://me:hunter2@a b'}\n", "context.toa.yaml:3:20: atomicity.redis: expected an address without spaces"},
	{"evicted neither", contextPath, "name: shop\nregistry: {}\nevicted: {}\n", "context.toa.yaml:3:10: evicted: expected components or services, found neither\n    remove the key if nothing is evicted"},
	{"resources that are no quantity", contextPath, "name: shop\nregistry: {}\nresources: {memory: [1GB, 2Gi]}\n", "context.toa.yaml:3:22: resources.memory[0]: expected a quantity such as 100m or 256Mi, found \"1GB\""},
	{"three resources", contextPath, "name: shop\nregistry: {}\nresources: {cpu: [1, 2, 3]}\n", "context.toa.yaml:3:18: resources.cpu: expected a list of two, a request and a limit, found a list\n    state both: [request, limit]"},
	{"event of one word", contextPath, "name: shop\nregistry: {}\nevents: [created]\n", "context.toa.yaml:3:10: events[0]: expected namespace.component.event, found \"created\""},
	{"annotation that is a flag", contextPath, "name: shop\nregistry: {}\ningress: {annotations: {a: true}}\n", "context.toa.yaml:3:28: ingress.annotations.a: expected text, found true\n    put quotes around true if that is the text"},
	{"annotation of what is no package", contextPath, "name: shop\nregistry: {}\nannotations: {'a b': 1}\n", "context.toa.yaml:3:15: annotations.\"a b\": expected a shortcut or the name of a package as a key"},
	{"annotation of nearly a shortcut", contextPath, "name: shop\nregistry: {}\nannotations: {expositon: 1}\n", "context.toa.yaml:3:15: annotations.expositon: expected \"exposition\" or the name of a package as a key"},
	{"annotation of a variant", contextPath, "name: shop\nregistry: {}\nannotations: {'@a/b@dev': 1}\n", "context.toa.yaml:3:15: annotations.\"@a/b@dev\": expected a shortcut or the name of a package as a key\n    a name that starts with @ has no variants for environments: use its shortcut, or put the variants below it"},
	{"annotations that contradict", contextPath, "name: shop\nregistry: {}\nstash: {a: {b c: secret}}\nannotations:\n  stash: {a: {b c: hidden}}\n", "context.toa.yaml:5:20: annotations.stash.a.\"b c\": expected what line 3 says, found something else\n    state it once"},
	{"service that is nearly a shortcut", contextPath, "name: shop\nregistry: {}\ncompositions: [{name: edge, components: [store.orders], services: [cadense]}]\n", "context.toa.yaml:3:68: compositions[0].services[0]: expected \"cadence\" or the name of a package, found \"cadense\""},
	{"service that is a path", contextPath, "name: shop\nregistry: {}\ncompositions: [{name: edge, components: [store.orders], services: [./x]}]\n", "context.toa.yaml:3:68: compositions[0].services[0]: expected a shortcut or the name of a package, found \"./x\""},
	{"retention too short", contextPath, "name: shop\nregistry: {}\ninbox: {retention: 1}\n", "context.toa.yaml:3:20: inbox.retention: expected a whole number, 600 or more, found \"1\""},

	// Compositions.
	{"no compositions", contextPath, "name: shop\nregistry: {}\ncompositions: []\n", "context.toa.yaml:3:15: compositions: expected at least one item, found an empty list\n    remove the key if there is nothing to list"},
	{"composition with a hyphen", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: my-edge, components: [store.orders]}\n", "context.toa.yaml:4:12: compositions[0].name: expected 1 to 32 letters and digits, a letter first, found \"my-edge\""},
	{"composition with a name too long", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: " + strings.Repeat("a", 33) + ", components: [store.orders]}\n", "context.toa.yaml:4:12: compositions[0].name: expected 1 to 32 letters and digits, a letter first, found \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\""},
	{"compositions that differ in case", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [store.orders]}\n  - {name: Edge, components: [store.orders]}\n", "context.toa.yaml:5:12: composition \"Edge\": expected a name of its own, line 4 has \"edge\"\n    give each composition a name of its own"},
	{"missing member", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [store.order]}\n", "context.toa.yaml:4:31: composition \"edge\": expected a component, found \"store.order\", which does not exist\n    did you mean \"store.orders\"?"},
	{"bare member of another namespace", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [orders]}\n", "context.toa.yaml:4:31: composition \"edge\": expected a component, found \"default.orders\", which does not exist"},
	{"member twice", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [store.orders, store.orders]}\n", "context.toa.yaml:4:45: compositions[0].components: expected every component once, found \"store.orders\" again\n    keep one of them"},
	{"member that is a path", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [components/store.orders]}\n", "context.toa.yaml:4:31: compositions[0].components[0]: expected namespace.name of a component, found \"components/store.orders\""},
	{"no replicas", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [store.orders], replicas: 0}\n", "context.toa.yaml:4:56: compositions[0].replicas: expected a whole number, 1 or more, found \"0\""},
	{"half a replica", contextPath, "name: shop\nregistry: {}\ncompositions:\n  - {name: edge, components: [store.orders], replicas: 0.5}\n", "context.toa.yaml:4:56: compositions[0].replicas: expected a whole number, 1 or more, found a number"},
	{"composition that is text", contextPath, "name: shop\nregistry: {}\ncompositions: [edge]\n", "context.toa.yaml:3:16: compositions[0]: expected an object, found text"},

	// Values of a manifest.
	{"null component name", manifestPath, "name:\n", "components/store.orders/manifest.toa.yaml:1:1: name: expected text, found null"},
	{"component name with a hyphen", manifestPath, "name: my-orders\n", "components/store.orders/manifest.toa.yaml:1:7: name: expected 1 to 32 letters and digits, a letter first, found \"my-orders\""},
	{"namespace of the runtime", manifestPath, "namespace: system\nname: orders\n", "components/store.orders/manifest.toa.yaml:1:12: namespace: expected a namespace other than system, which belongs to the runtime, found \"system\""},
	{"namespace that is not the directory's", manifestPath, "namespace: shop\n", "components/store.orders/manifest.toa.yaml:1:12: namespace: expected \"store\" as the directory says, for no name is stated, found \"shop\"\n    state the name as well"},
	{"label too long", manifestPath, "namespace: " + strings.Repeat("a", 32) + "\nname: " + strings.Repeat("b", 32) + "\n", "components/store.orders/manifest.toa.yaml:2:7: component \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\": its label \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\" is too long, expected 63 characters at most\n    shorten the name or the namespace"},
	{"label too long for a composition", manifestPath, "namespace: " + strings.Repeat("a", 20) + "\nname: " + strings.Repeat("b", 20) + "\n", "components/store.orders/manifest.toa.yaml:2:7: component \"aaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbb\": expected a label of 40 characters at most to name a composition after it, found \"aaaaaaaaaaaaaaaaaaaa-bbbbbbbbbbbbbbbbbbbb\"\n    list it in a composition of context.toa.yaml, or shorten its name"},
	{"files above", manifestPath, "namespace: store\nname: orders\nfiles: [../lib]\n", "components/store.orders/manifest.toa.yaml:3:9: files[0]: expected a relative path or glob without `..`, found \"../lib\""},
	{"files absolute", manifestPath, "namespace: store\nname: orders\nfiles: [/etc/passwd]\n", "components/store.orders/manifest.toa.yaml:3:9: files[0]: expected a relative path or glob without `..`, found \"/etc/passwd\""},
	{"files with an open bracket", manifestPath, "namespace: store\nname: orders\nfiles: ['[a']\n", "components/store.orders/manifest.toa.yaml:3:9: files[0]: expected a glob whose brackets are closed, found \"[a\""},
	{"ignored with a backslash before a digit", manifestPath, "namespace: store\nname: orders\nignore: ['*.md', '\\1']\n", "components/store.orders/manifest.toa.yaml:3:18: ignore[1]: expected a glob with a backslash before nothing but punctuation, found \"\\\\1\""},
	{"ignored above", manifestPath, "namespace: store\nname: orders\nignore: ['!../x']\n", "components/store.orders/manifest.toa.yaml:3:10: ignore[0]: expected a relative path or glob without `..`, found \"!../x\""},
	{"run that is a list", manifestPath, "namespace: store\nname: orders\nbuild: {run: [make]}\n", "components/store.orders/manifest.toa.yaml:3:14: build.run: expected text, found a list"},
	{"operations that are a list", manifestPath, "namespace: store\nname: orders\noperations: [get]\n", "components/store.orders/manifest.toa.yaml:3:13: operations: expected an object, found a list"},
	{"null entity", manifestPath, "namespace: store\nname: orders\nentity:\n", "components/store.orders/manifest.toa.yaml:3:1: entity: expected an object, found null"},
	{"one binding", manifestPath, "namespace: store\nname: orders\nbindings: amqp\n", "components/store.orders/manifest.toa.yaml:3:11: bindings: expected a list, found text"},
	{"storage that is nearly a shortcut", manifestPath, "namespace: store\nname: orders\nentity: {storage: mongdb}\n", "components/store.orders/manifest.toa.yaml:3:19: entity.storage: expected \"mongodb\" or the name of a package, found \"mongdb\""},
	{"binding of an operation", manifestPath, "namespace: store\nname: orders\noperations: {get: {bindings: [a b]}}\n", "components/store.orders/manifest.toa.yaml:3:31: operations.get.bindings[0]: expected a shortcut or the name of a package, found \"a b\""},
	{"event with a space", manifestPath, "namespace: store\nname: orders\nevents: {a b: ~}\n", "components/store.orders/manifest.toa.yaml:3:10: events.\"a b\": expected a name without spaces as a key"},
	{"source that is a list", manifestPath, "namespace: store\nname: orders\nreceivers: {a.b: {source: [x]}}\n", "components/store.orders/manifest.toa.yaml:3:27: receivers.\"a.b\".source: expected text, found a list"},
	{"guards that are text", manifestPath, "namespace: store\nname: orders\nguards: own\n", "components/store.orders/manifest.toa.yaml:3:9: guards: expected an object or a list, found text"},
	{"extensions that contradict", manifestPath, "namespace: store\nname: orders\nstash: 1\nextensions: {stash: 2}\n", "components/store.orders/manifest.toa.yaml:4:21: extensions.stash: expected what line 3 says, found something else\n    state it once"},

	// package.json.
	{"package.json that ends early", packagePath, "{\n  \"type\": \"module\"\n", "components/store.orders/package.json:2:19: not JSON: unexpected end of JSON input"},
	{"package.json with a comma too many", packagePath, "{\n  \"type\": \"module\",\n}\n", "components/store.orders/package.json:3:1: not JSON: invalid character '}' looking for beginning of object key string"},
	{"package.json that is a list", packagePath, "[]", "components/store.orders/package.json:1:1: expected an object, found array"},
	{"package.json with a list of dependencies", packagePath, "{\n  \"dependencies\": [\"left-pad\"]\n}\n", "components/store.orders/package.json:2:19: dependencies: expected an object, found array"},
}

func TestBroken(t *testing.T) {
	for _, test := range broken {
		t.Run(test.name, func(t *testing.T) {
			_, err := workspace.Load(files(test.file, test.text), "", nil)
			list, ok := errors.AsType[*workspace.Errors](err)
			if !ok {
				t.Fatalf("Load: %v, want *Errors", err)
			}
			if len(list.List) != 1 || err.Error() != test.want {
				t.Errorf("got\n%s\nwant\n%s", err, test.want)
			}
		})
	}
}
