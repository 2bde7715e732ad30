package chart_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/workspace"
)

func TestCheckDeploymentTakesWhatFits(t *testing.T) {
	for name, in := range map[string]chart.Input{"deployed": deployed(), "mono": single()} {
		if err := chart.CheckDeployment(in.Workspace, in.Deployment); err != nil {
			t.Errorf("CheckDeployment of %s: %v", name, err)
		}
	}
}

func TestCheckDeploymentRefuses(t *testing.T) {
	long := strings.Repeat("a", 300)
	type deployment = extensions.Deployment
	for name, test := range map[string]struct {
		change func(d *deployment, first *extensions.Unit)
		want   string
	}{
		"long composition": {
			func(_ *deployment, u *extensions.Unit) {
				u.ID = "composition/" + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			},
			`composition name "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" has 41 characters, a release takes 40`,
		},
		"composition in capitals": {
			func(_ *deployment, u *extensions.Unit) { u.ID = "composition/Store" },
			`composition name "Store" does not fit Kubernetes: expected lower-case letters, digits and hyphens`,
		},
		"component with underscore": {
			func(_ *deployment, u *extensions.Unit) { u.Components[0] = "store-my_carts" },
			`component name "store-my_carts" does not fit Kubernetes: expected lower-case letters, digits and hyphens, a letter first`,
		},
		"service in capitals": {
			func(d *deployment, _ *extensions.Unit) { d.Services[1].Group = "Continuity" },
			`service name "Continuity-journal" does not fit`,
		},
		"long service": {
			func(d *deployment, _ *extensions.Unit) { d.Services[1].Name = long },
			`has 311 characters, a release takes 42`,
		},
		"services with one name": {
			func(d *deployment, _ *extensions.Unit) { d.Services = append(d.Services, d.Services[1]) },
			"Service extension-continuity-journal stands twice in the release",
		},
		"service with the name of a component": {
			func(_ *deployment, u *extensions.Unit) { u.Components[0] = "extension-continuity-journal" },
			"Service extension-continuity-journal stands twice in the release",
		},
		"variable": {
			func(_ *deployment, u *extensions.Unit) { u.Variables[0].Name = "A=B" },
			`variable "A=B" of composition/store does not fit Kubernetes: expected letters`,
		},
		"variable twice": {
			func(_ *deployment, u *extensions.Unit) { u.Variables = append(u.Variables, u.Variables[0]) },
			"variable TOA_ENV stands twice in composition/store",
		},
		"secret": {
			func(_ *deployment, u *extensions.Unit) { u.Variables[1].Secret.Name = "toa_a" },
			`secret "toa_a" of composition/store does not fit`,
		},
		"secret key": {
			func(_ *deployment, u *extensions.Unit) { u.Variables[1].Secret.Key = "a/b" },
			`secret key "a/b" of composition/store does not fit`,
		},
		"secret key that leads up": {
			func(_ *deployment, u *extensions.Unit) { u.Variables[1].Secret.Key = "..a" },
			`secret key "..a" of composition/store does not fit`,
		},
		"secret key of one dot": {
			func(_ *deployment, u *extensions.Unit) { u.Variables[1].Secret.Key = "." },
			`secret key "." of composition/store does not fit`,
		},
		"volume of the map": {
			func(_ *deployment, u *extensions.Unit) { u.Mounts[0].Name = "components" },
			"volume components stands twice in composition/store",
		},
		"volumes that differ in case": {
			func(_ *deployment, u *extensions.Unit) {
				u.Mounts = append(u.Mounts, extensions.Mount{Name: "Files", Path: "/b", Claim: "b"})
			},
			"volume files stands twice in composition/store",
		},
		"mount over the map": {
			func(_ *deployment, u *extensions.Unit) { u.Mounts[0].Path = "/etc/toa/" },
			"mount path /etc/toa stands twice in composition/store",
		},
		"relative mount": {
			func(_ *deployment, u *extensions.Unit) { u.Mounts[0].Path = "files" },
			`mount path "files" of composition/store does not fit Kubernetes: expected an absolute path without colons`,
		},
		"claim": {
			func(_ *deployment, u *extensions.Unit) { u.Mounts[0].Claim = "" },
			`claim "" of composition/store does not fit`,
		},
		"ingress host": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Ingress.Hosts[0] = "https://a.example" },
			`ingress host "https://a.example" of service configuration-values does not fit`,
		},
		"ingress host with port": {
			func(d *deployment, _ *extensions.Unit) {
				d.Ingress = &extensions.Ingress{Hosts: []string{"localhost:8080"}}
			},
			`ingress host "localhost:8080" of mono does not fit`,
		},
		"ingress path": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Ingress.Path = "a" },
			`ingress path "a" of service configuration-values does not fit`,
		},
		"ingress path with empty part": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Ingress.Path = "/a//b" },
			`ingress path "/a//b" of service configuration-values does not fit Kubernetes: expected a path without empty parts`,
		},
		"ingress path that leads up": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Ingress.Path = "/a/.." },
			`ingress path "/a/.." of service configuration-values does not fit`,
		},
		"address as ingress host": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Ingress.Hosts[0] = "10.0.0.1" },
			`ingress host "10.0.0.1" of service configuration-values does not fit Kubernetes: expected a name, not an address`,
		},
		"probe without a path": {
			func(_ *deployment, u *extensions.Unit) { u.Probe.Path = "" },
			`probe path "" of composition/store does not fit Kubernetes: expected an absolute path`,
		},
		"probe without a port": {
			func(_ *deployment, u *extensions.Unit) { u.Probe.Port = 0 },
			"port 0 of composition/store does not exist: expected 1 to 65535",
		},
		"ingress class": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Ingress.Class = "A" },
			`ingress class "A" of service configuration-values does not fit`,
		},
		"ingress annotation": {
			func(d *deployment, _ *extensions.Unit) {
				d.Services[0].Ingress.Annotations = map[string]string{"a b": ""}
			},
			`annotation "a b" of service configuration-values does not fit`,
		},
		"annotation of mono": {
			func(d *deployment, _ *extensions.Unit) { d.Annotations = map[string]string{"/a": ""} },
			`annotation "/a" of mono does not fit`,
		},
		"annotations that no object holds": {
			func(d *deployment, _ *extensions.Unit) {
				d.Services[0].Annotations = map[string]string{"a": strings.Repeat("x", 200<<10), "b": strings.Repeat("x", 60<<10)}
			},
			"annotations of service configuration-values take 261 KiB, an object holds 256 KiB",
		},
		"port of a service": {
			func(d *deployment, _ *extensions.Unit) { d.Services[0].Port = 65536 },
			"port 65536 of service configuration-values does not exist: expected 1 to 65535",
		},
		"port of a probe": {
			func(_ *deployment, u *extensions.Unit) { u.Probe.Port = -1 },
			"port -1 of composition/store does not exist: expected 1 to 65535",
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := deployed()
			test.change(in.Deployment, &in.Deployment.Units[0])
			err := chart.CheckDeployment(in.Workspace, in.Deployment)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("CheckDeployment: error %v, want %s", err, test.want)
			}
			if _, same := chart.New(in); same == nil || same.Error() != err.Error() {
				t.Errorf("New: error %v, want that of CheckDeployment", same)
			}
			var hinted interface{ Hint() string }
			if !errors.As(err, &hinted) || !strings.Contains(hinted.Hint(), "--release none") {
				t.Errorf("%v has no hint with a way out", err)
			}
		})
	}
}

func TestCheckSaysWhere(t *testing.T) {
	in := shop()
	in.Workspace.Components[0].Label = "default-m_ail"
	in.Workspace.Components[0].Position = workspace.Position{File: "components/mail/manifest.toa.yaml", Line: 1, Column: 7}
	err := chart.Check(in.Workspace)
	const want = `components/mail/manifest.toa.yaml:1:7: component name "default-m_ail" does not fit Kubernetes`
	var wrong *chart.NameError
	if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Check: error %v, want *NameError: %s", err, want)
	}
}

// What a unit or a service is told is wrong where it was stated.
func TestCheckDeploymentSaysWhere(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*chart.Input)
		want   string
	}{
		"composition": {
			func(in *chart.Input) { in.Deployment.Units[0].Mounts[0].Claim = "A" },
			`context.toa.yaml:9:11: claim "A" of composition/store`,
		},
		"service of its own": {
			func(in *chart.Input) { in.Deployment.Units[1].Variables = []extensions.Variable{{Name: "A=B"}} },
			`context.toa.yaml:20:1: variable "A=B" of service/continuity-journal`,
		},
		"service that a composition runs": {
			func(in *chart.Input) { in.Deployment.Services[0].Ingress.Hosts[0] = "A" },
			`context.toa.yaml:22:3: ingress host "A" of service configuration-values`,
		},
		"service that the context does not speak of": {
			func(in *chart.Input) { in.Workspace.Context.Annotations = nil; in.Deployment.Services[0].Port = -1 },
			`context.toa.yaml: port -1 of service configuration-values`,
		},
		"mono": {
			func(in *chart.Input) { in.Deployment.Annotations = map[string]string{"a b": ""} },
			`context.toa.yaml: annotation "a b" of mono`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := deployed()
			place := func(line, column int) workspace.Position {
				return workspace.Position{File: "context.toa.yaml", Line: line, Column: column}
			}
			in.Workspace.Compositions[0].Position = place(9, 11)
			in.Workspace.Context.Annotations = []workspace.Annotation{
				{Package: "@toa.io/extensions.continuity", Position: place(20, 1)},
				{Package: "@toa.io/extensions.configuration", Position: place(22, 3)},
			}
			test.change(&in)
			if _, err := chart.New(in); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("New: error %v, want %s", err, test.want)
			}
		})
	}
}

func TestCheckRefusesCredentials(t *testing.T) {
	in := shop()
	in.Workspace.Context.Registry.Credentials = "Pull_Secret"
	var wrong *chart.NameError
	if err := chart.Check(in.Workspace); !errors.As(err, &wrong) || wrong.Subject != "registry credentials" {
		t.Errorf("Check: error %v, want *NameError of the credentials", err)
	}
}

// What names are made of never makes the check fail in another way.
func TestCheckDeploymentOfAnyNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := deployed()
		u := &in.Deployment.Units[0]
		for _, name := range []*string{
			&u.Components[0], &u.Variables[0].Name, &u.Variables[1].Secret.Name, &u.Variables[1].Secret.Key,
			&u.Mounts[0].Name, &u.Mounts[0].Path, &u.Mounts[0].Claim, &in.Deployment.Services[0].Ingress.Hosts[0],
		} {
			if rapid.Bool().Draw(t, "change") {
				*name = rapid.StringMatching(`[a-zA-Z0-9_./*: -]{0,70}`).Draw(t, "name")
			}
		}
		err := chart.CheckDeployment(in.Workspace, in.Deployment)
		if _, same := chart.New(in); (same == nil) != (err == nil) {
			t.Errorf("CheckDeployment: %v, New: %v", err, same)
		}
	})
}
