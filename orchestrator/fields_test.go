package orchestrator

import (
	"reflect"
	"slices"
	"testing"

	"toa.io/toa/cache"
	"toa.io/toa/templates"
	"toa.io/toa/workspace"
)

// Every field of what can change an image is either part of the key or listed
// here with the reason why it is not. A field that is in neither set fails.
var excused = map[reflect.Type]map[string]string{
	reflect.TypeFor[Step](): {
		"ID":         "a name: images of equal content may share a key, their repository is in the reference",
		"Key":        "it is the key",
		"Reference":  "where the image goes, not what it is",
		"Previous":   "a hint at what the registry holds",
		"Cached":     "what becomes of the step",
		"Anew":       "what becomes of the step",
		"VerifiedAt": "what is known of the registry",
		"Reason":     "text for people",
		"Builder":    "the same recipe gives the same image whichever builder makes it",
	},
	reflect.TypeFor[Source](): {
		"Component": "text for people; the label says the same",
		"Locals":    "their digests are in the recipe",
		"Shared":    "its digest is in the recipe",
		"Dir":       "where the workspace stands on this machine",
	},
	reflect.TypeFor[workspace.Workspace](): {
		"Environment": "reaches pods as a variable",
		"Notices":     "text for people",
	},
	reflect.TypeFor[workspace.Context](): {
		"Name":        "names the repository",
		"Version":     "names the chart",
		"Description": "describes the chart",
		"Release":     "how the chart is applied",
		"Cache":       "what is kept between runs",
		"Annotations": "reach pods as variables; packages that they need are in the recipe, by Unit",
		"Resources":   "of pods",
		"Mono":        "how it is deployed",
		"Ingress":     "how it is reached",
		"Evicted":     "decides members, which are copied",
		"Atomicity":   "reaches pods as variables",
		"Outbox":      "reaches pods as variables",
		"Inbox":       "reaches pods as variables",
		"Addressed":   "reaches pods as variables",
		"Events":      "reach pods as variables",
		"Builder":     "the same recipe gives the same image whichever builder makes it",
	},
	reflect.TypeFor[workspace.Registry](): {
		"Base":        "where images go",
		"Credentials": "how the cluster pulls",
		"Insecure":    "how bytes travel; digests say what they are",
		"Services":    "decides which images are built, not what is in them",
	},
	reflect.TypeFor[workspace.Component](): {
		"Namespace": "part of the label",
		"Name":      "part of the label",
		"ID":        "part of the label",
		"Dir":       "where it stands; its files are hashed",
		"Contract":  "made of the manifest, whose bytes are hashed",
		"Position":  "for messages",
		"Evicted":   "decides members, which are copied",
		"HasEntity": "made of the manifest", "Storage": "made of the manifest", "Bindings": "made of the manifest",
		"Uses": "made of the manifest", "Bridge": "made of the manifest", "Prototype": "made of the manifest",
		"Extensions": "made of the manifest", "Operations": "made of the manifest and of files, which are hashed",
		"Events": "made of the manifest and of files", "Guards": "made of the manifest and of files",
		"Receivers":  "made of the manifest and of files",
		"Prototypes": "their directories are in the component, whose files are hashed, or in a package that its lockfile pins",
		"stray":      "for messages",
		"Lacks":      "says how to mend that Lock, which is hashed, is empty",
		"Bringer":    "where it was found; its files are hashed",
	},
	reflect.TypeFor[workspace.Composition](): {
		"Name":      "names the repository",
		"Slug":      "names the repository",
		"Derived":   "how it came about",
		"Replicas":  "how many pods run",
		"Services":  "run in the composition's process; packages that they need are in the recipe, by Unit",
		"Resources": "of pods",
		"Position":  "for messages",
	},
}

// hashed are the fields whose part in the key TestKeysMoveWithTheirInputs shows
// for the workspace, and TestKeyCoversStep below for the step.
var hashed = map[reflect.Type][]string{
	reflect.TypeFor[Step]():                  {"Recipe", "Sources", "Dependencies"},
	reflect.TypeFor[Source]():                {"Label", "Version", "Tree"},
	reflect.TypeFor[workspace.Workspace]():   {"Context", "Components", "Compositions"},
	reflect.TypeFor[workspace.Context]():     {"Runtime", "Registry"},
	reflect.TypeFor[workspace.Runtime]():     {"Version", "Registry", "Proxy"},
	reflect.TypeFor[workspace.Registry]():    {"Platforms", "Build"},
	reflect.TypeFor[workspace.Build]():       {"Image", "Run", "Arguments", "Plain", "Scripts"},
	reflect.TypeFor[workspace.Component]():   {"Label", "Version", "Files", "Ignore", "Build", "Module", "HasPackage", "HasDependencies", "Lock", "Shared", "Locals"},
	reflect.TypeFor[workspace.Composition](): {"Components", "Image"},
}

func TestEveryFieldIsHashedOrExcused(t *testing.T) {
	for typ, fields := range hashed {
		for i := range typ.NumField() {
			name := typ.Field(i).Name
			_, isExcused := excused[typ][name]
			if slices.Contains(fields, name) == isExcused {
				t.Errorf("%s.%s must be in the key or excused with a reason, and not both", typ, name)
			}
		}
	}
}

// Every field of the recipe and of what it is made of moves the key.
func TestKeyCoversStep(t *testing.T) {
	step := func() Step {
		return Step{
			Recipe: templates.Recipe{
				Kind: KindComposition, Base: "base", Digests: []string{"d"}, Platforms: []string{"p"}, Arguments: []string{"a"},
				Env: []string{"e"}, Workdir: "/w", NPM: templates.NPM{Registry: "r", Proxy: "x"},
				Installs: []templates.Install{{Label: "l", Package: "p", Lock: "k", LockName: "n", Config: "c", Scripts: "s", Locals: []templates.Local{{Name: "l", Digest: "d"}}}},
				Packages: []string{"x@1"},
				Copies:   []templates.Copy{{Label: "l"}}, Runs: []templates.Run{{Line: "l", Owner: "o"}}, Cmd: "c",
			},
			Sources: []Source{{Label: "l", Version: "v", Tree: cache.NewTree(nil)}},
		}
	}
	seen := map[cache.Key]string{stepKey(step()): "nothing"}
	check := func(name string, s Step) {
		key := stepKey(s)
		if other, twice := seen[key]; twice {
			t.Errorf("changing %s gives the key of changing %s", name, other)
		}
		seen[key] = name
	}
	changed := step()
	eachValue(reflect.ValueOf(&changed.Recipe).Elem(), "Recipe", func(name string, field reflect.Value) {
		old := reflect.ValueOf(field.Interface())
		switch field.Kind() {
		case reflect.String:
			field.SetString(old.String() + "+")
		case reflect.Bool:
			field.SetBool(!old.Bool())
		default:
			field.SetInt(old.Int() + 1)
		}
		check(name, changed)
		field.Set(old)
	})
	for name, change := range map[string]func(*Step){
		"a label":          func(s *Step) { s.Sources[0].Label = "m" },
		"a stated version": func(s *Step) { s.Sources[0].Version = "w" },
		"a tree":           func(s *Step) { s.Sources[0].Tree = cache.NewTree([]cache.File{cache.Generated("a", nil)}) },
		"one source more":  func(s *Step) { s.Sources = append(s.Sources, s.Sources[0]) },
		"dependencies":     func(s *Step) { s.Dependencies = cache.Digest([]byte("d")) },
		"where fields end": func(s *Step) { s.Recipe.Env = []string{"e", ""} },
	} {
		s := step()
		change(&s)
		check(name, s)
	}
}

// eachValue visits every string, number and flag below a value; a field of another kind fails
// loudly, so that it is not left out of the test unnoticed.
func eachValue(v reflect.Value, name string, visit func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.String, reflect.Int64, reflect.Bool:
		visit(name, v)
	case reflect.Struct:
		for i := range v.NumField() {
			eachValue(v.Field(i), name+"."+v.Type().Field(i).Name, visit)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			panic(name + " is empty: give it a value in the test")
		}
		for i := range v.Len() {
			eachValue(v.Index(i), name, visit)
		}
	default:
		panic(name + " is of a kind that the test does not change")
	}
}
