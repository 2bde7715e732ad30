package orchestrator_test

import (
	"errors"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/graph"
	"toa.io/toa/orchestrator"
)

// saved is a plan of the shop with a release that is applied.
func (s *site) saved() orchestrator.Saved {
	s.Helper()
	saved := orchestrator.Save(s.mustPlan())
	saved.Environment = s.env
	saved.Release = &orchestrator.SavedRelease{
		Kind: "apply", Cluster: "prod", Server: "https://prod.test", Namespace: "shop", Name: "shop",
		Deployed: 3, Inputs: "abc", Manifests: "kind: Deployment\n# <&>\n",
	}
	return saved
}

func TestSavedPlanIsReadAsItWas(t *testing.T) {
	s := newSite(t, shop, installing)
	want := s.saved()
	text, err := want.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := s.saved().Encode(); string(again) != string(text) {
		t.Error("equal plans are not equal bytes")
	}
	if strings.Contains(string(text), s.root) {
		t.Error("the plan tells where the workspace is")
	}
	got, err := orchestrator.ParseSaved(text)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Release, want.Release) || len(got.Images) != 4 || !got.Images[0].Build || len(got.Images[0].Inputs) == 0 {
		t.Errorf("read %+v", got)
	}
	if moved := want.Moved(got); len(moved) > 0 {
		t.Errorf("moved by being written: %q", moved)
	}
}

func TestParseSavedRefuses(t *testing.T) {
	text, err := newSite(t, shop).saved().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct{ from, to, want string }{
		"another revision":  {`"deployed": 3`, `"deployed": 4`, "checksum"},
		"another reference": {"registry.test/shop/composition-edge:", "registry.evil/shop/composition-edge:", "checksum"},
		"another format":    {"toa/plan/v1", "toa/plan/v9", `"toa/plan/v9"`},
		"half of it":        {string(text[len(text)/2:]), "", "no saved plan"},
	} {
		_, err := orchestrator.ParseSaved([]byte(strings.Replace(string(text), row.from, row.to, 1)))
		var broken *orchestrator.SavedError
		if !errors.As(err, &broken) || !strings.Contains(err.Error(), row.want) || broken.Hint() == "" {
			t.Errorf("%s: %v, want %q", name, err, row.want)
		}
	}
	indented := strings.ReplaceAll(string(text), "\n", "\n   ")
	if _, err := orchestrator.ParseSaved([]byte(indented)); err != nil {
		t.Errorf("white space counts: %v", err)
	}
}

// Everything that moves is named, and being built in the meantime is no move.
func TestMoved(t *testing.T) {
	hashes := regexp.MustCompile("[0-9a-f]{32}")
	for name, row := range map[string]struct {
		edit  func(s *site)
		moved func(now *orchestrator.Saved)
		want  []string
	}{
		"nothing":              {},
		"images are published": {edit: func(s *site) { s.build(nil) }},
		"a file": {
			edit: func(s *site) { s.write("components/mail/operations/send.js", "sent") },
			want: []string{"composition/default-mail: default-mail/operations/send.js changed", "version of default.mail was HASH, is HASH"},
		},
		"a component": {
			edit: func(s *site) { s.write("components/sms/manifest.toa.yaml", "name: sms\n") },
			want: []string{"composition/default-sms is new", "version of default.sms is new"},
		},
		"the deployed revision": {
			moved: func(now *orchestrator.Saved) { now.Release.Deployed = 4 },
			want:  []string{"deployed revision was 3, is 4"},
		},
		"the cluster and the namespace": {
			moved: func(now *orchestrator.Saved) { now.Release.Cluster, now.Release.Namespace = "test", "other" },
			want:  []string{`cluster was "prod", is "test"`, `namespace was "shop", is "other"`},
		},
		"what the manifests are made of": {
			moved: func(now *orchestrator.Saved) { now.Release.Inputs = "def" },
			want:  []string{"context.toa.yaml, what packages say, or toa itself"},
		},
		"that there is a release": {
			moved: func(now *orchestrator.Saved) { now.Release = nil },
			want:  []string{"whether there is a release"},
		},
		"the environment": {
			moved: func(now *orchestrator.Saved) { now.Environment = "production" },
			want:  []string{`environment was "", is "production"`},
		},
		"an image that its makers publish": {
			moved: func(now *orchestrator.Saved) { now.Published = map[graph.ID]string{"service/gateway": "gateway:2"} },
			want:  []string{"image of service/gateway is new"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, shop)
			was := s.saved()
			if row.edit != nil {
				row.edit(s)
			}
			now := s.saved()
			if row.moved != nil {
				row.moved(&now)
			}
			got := was.Moved(now)
			for i := range got {
				got[i] = hashes.ReplaceAllString(got[i], "HASH")
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("moved %q, want %q", got, row.want)
			}
		})
	}
}

// An image that was built and published as something else since is a move: what
// was planned with would not be what runs.
func TestMovedDigest(t *testing.T) {
	s := newSite(t, shop)
	s.build(nil)
	was, now := s.saved(), s.saved()
	now.Images[0].Reference = now.Images[0].Reference[:len(now.Images[0].Reference)-1] + "x"
	if moved := was.Moved(now); len(moved) != 1 || !strings.Contains(moved[0], "is published as") {
		t.Errorf("moved %q", moved)
	}
}

func FuzzParseSaved(f *testing.F) {
	text, err := orchestrator.Saved{Context: "shop", Release: &orchestrator.SavedRelease{Kind: "apply"}}.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":"toa/plan/v1","checksum":"","plan":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		saved, err := orchestrator.ParseSaved(data)
		if err != nil {
			return
		}
		if moved := saved.Moved(saved); len(moved) > 0 {
			t.Errorf("a plan moved from itself: %q", moved)
		}
	})
}
