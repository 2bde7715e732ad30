package release_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
	"toa.io/toa/graph"
	"toa.io/toa/release"
)

// global are variables that every unit of the platform has.
func global() []extensions.Variable {
	return []extensions.Variable{
		{Name: "TOA_CONTEXT", Value: "My_Shop"},
		{Name: "TOA_ENV", Value: "staging"},
		{Name: "TOA_AMQP_CONTEXT", Value: `{".":["amqp://broker"]}`},
		{Name: "TOA_AMQP_CONTEXT__PASSWORD", Secret: &extensions.Secret{Name: "toa-amqp-context.default", Key: "password"}},
		{Name: "TOA_STORAGES_FILES_KEY", Secret: &extensions.Secret{Name: "toa-storages-files", Key: "KEY", Optional: true}},
		{Name: "TOA_EMPTY"},
		{Name: "PRICE", Value: "$(TOA_ENV) costs $$5"},
	}
}

func gateway() extensions.Service {
	return extensions.Service{
		Package: "@toa.io/extensions.exposition", Group: "exposition", Name: "gateway", Version: "1.0.0", Port: 8000,
		Ingress: &extensions.Ingress{
			Path: "/", Hosts: []string{"api.example.com", "*.example.org"}, Class: "alb",
			Annotations: map[string]string{"example.com/ports": `[{"HTTPS": 443}]`, "a": "on"},
		},
		Annotations: map[string]string{"example.com/timeout": "010"},
		Variables:   []extensions.Variable{{Name: "TOA_EXPOSITION", Value: "{}"}},
		Components:  []string{"identity-tokens"},
		Probe:       &extensions.Probe{Path: "/.ready", Port: 8004, Delay: 3},
	}
}

func configurationService() extensions.Service {
	yes := true
	return extensions.Service{
		Package: "@toa.io/extensions.configuration", Group: "configuration", Name: "values", Version: "1.0.0", Port: 8003,
		Ingress:    &extensions.Ingress{Path: "/.configuration", Hosts: []string{"api.example.com"}, Default: &yes},
		Components: []string{"configuration-values"},
	}
}

func metronome() extensions.Service {
	return extensions.Service{Package: "@toa.io/extensions.cadence", Group: "cadence", Name: "metronome", Version: "2.0.0"}
}

// platform is a deployment that has everything but mono.
func platform() chart.Input {
	in := input()
	values, tick := configurationService(), metronome()
	in.Deployment = &extensions.Deployment{
		Units: []extensions.Unit{
			{
				ID: "composition/store", Components: []string{"store-carts", "store-orders"},
				Packages: []string{"@toa.io/extensions.exposition", "./own$package"}, Hosted: []string{"exposition-gateway"},
				Variables: append(global(), extensions.Variable{Name: "TOA_EXPOSITION", Value: "{}"}),
				Mounts:    []extensions.Mount{{Name: "user_files", Path: "/var/files", Claim: "shop-files"}},
				Backends:  []extensions.Backend{{Port: 8000, Path: "/"}},
				Probe:     &extensions.Probe{Path: "/.ready", Port: 8004, Delay: 3},
				Resources: &extensions.Resources{CPU: &[2]string{"100m", "1"}, Memory: &[2]string{"128Mi", "256Mi"}},
				Replicas:  3,
			},
			{
				ID: "composition/default-mail", Components: []string{"default-mail"}, Variables: global(),
				Probe:     &extensions.Probe{Path: "/.ready", Port: 8001},
				Resources: &extensions.Resources{Memory: &[2]string{"64Mi", "128Mi"}}, Replicas: 2,
			},
			{ID: "service/cadence-metronome", Variables: global(), Probe: &extensions.Probe{Off: true}, Service: &tick},
			{
				ID: "service/configuration-values", Components: []string{"configuration-values"}, Service: &values,
				Variables: append([]extensions.Variable{{Name: "TOA_CONFIGURATION_VALUES", Value: `{"a":"\n---\n"}`}}, global()...),
				Mounts:    []extensions.Mount{{Name: "files", Path: "/var/files", Claim: "shop-files"}},
				Probe:     &extensions.Probe{Path: "/.ready", Port: 8001}, Replicas: 4,
				Resources: &extensions.Resources{CPU: &[2]string{"50m", "100m"}},
			},
		},
		Services: []extensions.Placed{{Service: tick}, {Service: values}, {Service: gateway(), Hosts: []string{"Store"}}},
	}
	in.References["service/cadence-metronome"] = "registry.example.com/my_shop/extension-cadence-metronome:0011@" + digest
	in.References["service/configuration-values"] = "ghcr.io/toa-io/extension-configuration-values:1.0.0@" + digest
	return in
}

// alone is everything in one.
func alone() chart.Input {
	in := input()
	in.Deployment = &extensions.Deployment{
		Units: []extensions.Unit{{
			ID: "mono", Components: []string{"default-mail", "store-carts", "store-orders"},
			Packages: []string{"@toa.io/extensions.exposition"}, Hosted: []string{"configuration-values", "exposition-gateway"},
			Variables: global(),
			Mounts:    []extensions.Mount{{Name: "user_files", Path: "/var/files", Claim: "shop-files"}},
			Backends:  []extensions.Backend{{Port: 8003, Path: "/.configuration"}, {Port: 8000, Path: "/"}, {Port: 8000, Path: "/"}, {Port: 9000, Path: "/"}},
			Probe:     &extensions.Probe{Path: "/.ready", Port: 8001},
			Resources: &extensions.Resources{CPU: &[2]string{"100m", "1"}}, Replicas: 2,
		}},
		Services: []extensions.Placed{
			{Service: configurationService(), Hosts: []string{"mono"}}, {Service: gateway(), Hosts: []string{"mono"}},
		},
		Ingress:     configurationService().Ingress,
		Annotations: gateway().Annotations,
	}
	in.References["mono"] = "registry.example.com/my_shop/mono:0011@" + digest
	return in
}

// workspaces are what most tests are made for.
func workspaces() map[string]chart.Input {
	return map[string]chart.Input{"compositions": input(), "platform": platform(), "mono": alone()}
}

func TestDeploymentGolden(t *testing.T) {
	for name, in := range map[string]chart.Input{"platform": platform(), "mono": alone()} {
		c := filled(t, in)
		values := c.Files[len(c.Files)-1]
		golden(t, name+".yaml", render(t, load(t, c), nil))
		compare(t, name+".values.yaml", values.Data)
	}
}

func TestDeploymentLints(t *testing.T) {
	for name, in := range workspaces() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, _ := packaged(t, &release.Packager{Dir: t.TempDir()}, filled(t, in))
			if err := chartutil.ExpandFile(dir, r.Chart); err != nil {
				t.Fatal(err)
			}
			for _, message := range lint.All(filepath.Join(dir, "my-shop"), nil, "default", true).Messages {
				if message.Severity > support.InfoSev {
					t.Error(message)
				}
			}
		})
	}
}

func TestDeploymentObjects(t *testing.T) {
	for name, want := range map[string][]string{
		"platform": {
			"Service store-carts", "Service store-orders", "Service default-mail",
			"Deployment composition-store", "Deployment composition-default-mail", "ConfigMap components",
			"Deployment extension-cadence-metronome",
			"Deployment extension-configuration-values", "Service extension-configuration-values", "Ingress extension-configuration-values",
			"Service extension-exposition-gateway", "Ingress extension-exposition-gateway",
		},
		"mono": {
			"Service default-mail", "Service store-carts", "Service store-orders", "ConfigMap components",
			"Deployment mono", "Service mono", "Ingress mono",
		},
	} {
		var got []string
		for _, object := range objects(t, render(t, load(t, filled(t, workspaces()[name])), nil)) {
			accessor := object.(interface{ GetName() string })
			got = append(got, object.GetObjectKind().GroupVersionKind().Kind+" "+accessor.GetName())
		}
		if !slices.Equal(got, want) {
			t.Errorf("objects of %s are\n%q\nwant\n%q", name, got, want)
		}
	}
}

// Every path of an Ingress leads to a port of a Service, and each pod behind it
// says that it listens there.
func TestIngressesLeadToPods(t *testing.T) {
	for name, in := range workspaces() {
		all := objects(t, render(t, load(t, filled(t, in)), nil))
		for _, ingress := range of[*networkingv1.Ingress](all) {
			for _, rule := range ingress.Spec.Rules {
				seen := map[string]bool{}
				for _, path := range rule.HTTP.Paths {
					if seen[path.Path] {
						t.Errorf("%s: ingress %s has %s%s twice", name, ingress.Name, rule.Host, path.Path)
					}
					seen[path.Path] = true
					if to := path.Backend.Service; !listens(all, to.Name, to.Port.Number) {
						t.Errorf("%s: ingress %s leads to %s:%d, where nothing listens", name, ingress.Name, to.Name, to.Port.Number)
					}
				}
			}
		}
	}
}

// listens tells whether a Service has the port and pods that have it too.
func listens(all []runtime.Object, name string, port int32) bool {
	for _, s := range of[*corev1.Service](all) {
		if s.Name != name || !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port }) {
			continue
		}
		for _, d := range of[*appsv1.Deployment](all) {
			ports := d.Spec.Template.Spec.Containers[0].Ports
			declared := slices.ContainsFunc(ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
			if contains(d.Spec.Template.Labels, s.Spec.Selector) && declared {
				return true
			}
		}
	}
	return false
}

// Kubernetes refuses to change a selector of a Deployment; a Service that moved
// would lead nowhere for a while.
func TestDeploymentSelectorsSurviveReleases(t *testing.T) {
	for name, in := range map[string]func() chart.Input{"platform": platform, "mono": alone} {
		before, next := selectors(t, in()), in()
		next.Workspace.Context.Version = "9.0.0"
		for id := range next.References {
			next.References[id] = strings.Replace(next.References[id], ":", ":f", 1)
		}
		for i := range next.Deployment.Units {
			u := &next.Deployment.Units[i]
			u.Variables, u.Mounts, u.Probe, u.Resources, u.Replicas = nil, nil, nil, nil, 7
			if u.ID.Kind() != "service" {
				u.Components = append([]string{"added-first"}, u.Components...)
			}
		}
		for i := range next.Deployment.Services {
			s := &next.Deployment.Services[i]
			s.Version, s.Annotations, s.Ingress = "9.0.0", nil, nil
		}
		after := selectors(t, next)
		for object, selector := range before {
			if after[object] != selector {
				t.Errorf("%s: selector of %s was %s and becomes %s", name, object, selector, after[object])
			}
		}
	}
}

// Which compositions run a service may change: its Service stays as it is.
func TestServiceMovesBetweenWorkloads(t *testing.T) {
	before, moved := selectors(t, platform()), platform()
	moved.Deployment.Units = slices.DeleteFunc(moved.Deployment.Units, func(u extensions.Unit) bool {
		return u.ID == "service/configuration-values"
	})
	moved.Deployment.Units[1].Hosted = []string{"configuration-values"}
	moved.Deployment.Services[1].Hosts = []string{"default-Mail"}
	after := selectors(t, moved)
	const service = "Service extension-configuration-values"
	if before[service] == "" || after[service] != before[service] {
		t.Errorf("selector was %s and becomes %s", before[service], after[service])
	}
	if _, own := after["Deployment extension-configuration-values"]; own {
		t.Error("a hosted service has a Deployment")
	}
}

// arrives is what a process sees of a value. The kubelet reads it from left to
// right: "$$" is "$", "$(name)" is what the name stands for (a mark here, so
// that none is missed), "$(" without an end stands for itself, and any other "$"
// takes the next byte along, as a character of its own. A last "$" stays.
func arrives(value string) string {
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '$' || i+1 == len(value) {
			b.WriteByte(value[i])
			continue
		}
		i++
		end := strings.IndexByte(value[i:], ')')
		switch {
		case value[i] == '$':
			b.WriteByte('$')
		case value[i] == '(' && end >= 0:
			b.WriteString("<reference>")
			i += end
		default:
			b.WriteString("$" + string(rune(value[i])))
		}
	}
	return b.String()
}

func TestArrives(t *testing.T) {
	for value, want := range map[string]string{
		"": "", "a": "a", "$": "$", "$$": "$", "$$$": "$$", "$a": "$a", "$(A)": "<reference>", "$$(A)": "$(A)",
		"$(A": "$(A", "$()": "<reference>", "$é": "$Ã\xa9",
	} {
		if got := arrives(value); got != want {
			t.Errorf("arrives(%q) = %q, want %q", value, got, want)
		}
	}
}

// Whatever text others chose, it arrives as it is and adds no object.
func TestTextsArriveEverywhere(t *testing.T) {
	joined := rapid.Map(rapid.SliceOf(rapid.SampledFrom(tricky)), func(parts []string) string { return strings.Join(parts, "") })
	text := rapid.OneOf(rapid.String(), joined)
	rapid.Check(t, func(t *rapid.T) {
		value := text.Draw(t, "value")
		for count, in := range map[int]chart.Input{12: platform(), 7: alone()} {
			spoil(in.Deployment, value)
			all := objects(t, render(t, unpacked(t, filled(t, in)), nil))
			if len(all) != count {
				t.Fatalf("with %q there are %d objects, want %d", value, len(all), count)
			}
			for _, d := range of[*appsv1.Deployment](all) {
				checkEnvironment(t, d, value)
			}
			for _, i := range of[*networkingv1.Ingress](all) {
				if got, ok := i.Annotations["text"]; ok && got != value {
					t.Errorf("annotation of %s is %q, want %q", i.Name, got, value)
				}
			}
		}
	})
}

// spoil puts a text wherever a text of any kind may be.
func spoil(d *extensions.Deployment, value string) {
	for i := range d.Units {
		u := &d.Units[i]
		u.Variables = append(u.Variables, extensions.Variable{Name: "TEXT", Value: value})
		if len(u.Packages) > 0 {
			u.Packages = []string{value, "second"}
		}
	}
	for i := range d.Services {
		s := &d.Services[i]
		s.Version, s.Annotations = value, map[string]string{"text": value}
		if s.Ingress != nil {
			s.Ingress.Annotations = map[string]string{"text": value}
		}
	}
	d.Annotations = map[string]string{"text": value}
}

func checkEnvironment(t tester, d *appsv1.Deployment, value string) {
	t.Helper()
	env := d.Spec.Template.Spec.Containers[0].Env
	if last := env[len(env)-1]; last.Name != "TEXT" || arrives(last.Value) != value {
		t.Errorf("a process of %s sees %q, want %q", d.Name, arrives(last.Value), value)
	}
	if first := env[0]; first.Name == "TOA_SERVICES" && arrives(first.Value) != value+" second" {
		t.Errorf("TOA_SERVICES of %s is %q, want %q and another", d.Name, first.Value, value)
	}
}

func TestPodsAreConfined(t *testing.T) {
	for name, in := range workspaces() {
		for _, d := range of[*appsv1.Deployment](objects(t, render(t, load(t, filled(t, in)), nil))) {
			pod := d.Spec.Template.Spec
			if token := pod.AutomountServiceAccountToken; token == nil || *token {
				t.Errorf("%s: pods of %s get a token", name, d.Name)
			}
			if c := pod.SecurityContext; c == nil || c.SeccompProfile == nil || c.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: pods of %s have security context %v", name, d.Name, c)
			}
			if len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != "pull-secret" {
				t.Errorf("%s: pods of %s pull with %v", name, d.Name, pod.ImagePullSecrets)
			}
		}
	}
}

// confinement are values that change what pods run under.
func confinement() map[string]any {
	return map[string]any{"security": map[string]any{
		"token":     true,
		"pod":       map[string]any{"seccompProfile": nil, "fsGroup": 1000},
		"container": map[string]any{"allowPrivilegeEscalation": false},
	}}
}

func TestConfinementCanBeChanged(t *testing.T) {
	for _, d := range of[*appsv1.Deployment](objects(t, render(t, load(t, filled(t, platform())), confinement()))) {
		pod := d.Spec.Template.Spec
		if !*pod.AutomountServiceAccountToken || pod.SecurityContext.SeccompProfile != nil || *pod.SecurityContext.FSGroup != 1000 {
			t.Errorf("pods of %s have %v and %v", d.Name, *pod.AutomountServiceAccountToken, pod.SecurityContext)
		}
		if c := pod.Containers[0].SecurityContext; c == nil || *c.AllowPrivilegeEscalation {
			t.Errorf("containers of %s have %v", d.Name, c)
		}
	}
}

func TestSchemaRefuses(t *testing.T) {
	composition := func(key string, value any) map[string]any {
		return map[string]any{"compositions": []any{map[string]any{"name": "a", "image": "b", key: value}}}
	}
	service := func(more map[string]any) map[string]any {
		more["name"] = "a-b"
		return map[string]any{"services": []any{more}}
	}
	for name, test := range map[string]struct {
		values map[string]any
		want   string
	}{
		"unknown key":            {map[string]any{"composition": nil}, "composition"},
		"unknown key inside":     {composition("replica", 1), "replica"},
		"replicas as text":       {composition("replicas", "2"), "/compositions/0/replicas"},
		"part of a replica":      {composition("replicas", 1.5), "/compositions/0/replicas"},
		"name in capitals":       {composition("name", "A"), "/compositions/0/name"},
		"port too high":          {composition("backends", []any{map[string]any{"port": 65536}}), "/compositions/0/backends/0/port"},
		"number for a variable":  {composition("variables", []any{map[string]any{"name": "A", "value": 1}}), "/compositions/0/variables/0/value"},
		"variable without value": {composition("variables", []any{map[string]any{"name": "A"}}), "/compositions/0/variables/0"},
		"request without limit":  {composition("resources", map[string]any{"cpu": []any{"1"}}), "/compositions/0/resources/cpu"},
		"no image":               {service(map[string]any{}), "/services/0"},
		"image and workload":     {service(map[string]any{"image": "a", "workload": []any{"b"}}), "/services/0"},
		"ingress without port":   {service(map[string]any{"image": "a", "ingress": map[string]any{"hosts": []any{"a"}}}), "/services/0"},
		"ingress without hosts":  {service(map[string]any{"image": "a", "port": 1, "ingress": map[string]any{"default": false}}), "/services/0/ingress"},
		"map twice":              {map[string]any{"map": map[string]any{"gzip": "YQ=="}}, "/map"},
		"token as text":          {map[string]any{"security": map[string]any{"token": "no"}}, "/security/token"},
	} {
		t.Run(name, func(t *testing.T) {
			loaded := load(t, shop(t))
			_, err := chartutil.ToRenderValues(loaded, test.values, chartutil.ReleaseOptions{Name: "a"}, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that names %s", err, test.want)
			}
		})
	}
}

func TestReplicas(t *testing.T) {
	for name, test := range map[string]struct {
		values map[string]any
		want   int32
	}{
		"none stated": {map[string]any{"name": "a", "image": "b"}, 2},
		"zero":        {map[string]any{"name": "a", "image": "b", "replicas": 0}, 0},
		"five":        {map[string]any{"name": "a", "image": "b", "replicas": 5.0}, 5},
	} {
		all := objects(t, render(t, load(t, shop(t)), map[string]any{"compositions": []any{test.values}}))
		if got := *of[*appsv1.Deployment](all)[0].Spec.Replicas; got != test.want {
			t.Errorf("%s: %d replicas, want %d", name, got, test.want)
		}
	}
}

// crowd is a workspace of n compositions as a large context has them.
func crowd(n int) chart.Input {
	in := platform()
	store := in.Deployment.Units[0]
	for i := range 30 {
		store.Variables = append(store.Variables, extensions.Variable{Name: fmt.Sprintf("TOA_VARIABLE_%d", i), Value: "mongodb://host:27017"})
	}
	in.Deployment.Units, in.Deployment.Services = nil, nil
	for i := range n {
		store.ID = graph.NewID("composition", fmt.Sprintf("c%d", i))
		store.Components = []string{fmt.Sprintf("store-a%d", i), fmt.Sprintf("store-b%d", i)}
		in.Deployment.Units = append(in.Deployment.Units, store)
		in.References[store.ID] = in.References["composition/store"]
	}
	return in
}

// cpu is how long this process has computed so far.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// 500 compositions with 38 variables each are to render within 300 ms of CPU.
// What Helm does with the values before (merge them, check them against the
// schema) is measured apart.
func BenchmarkRender(b *testing.B) {
	loaded := unpacked(b, filled(b, crowd(500)))
	values, err := chartutil.ToRenderValues(loaded, nil, chartutil.ReleaseOptions{Name: "shop"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("templates", func(b *testing.B) {
		measure(b, func() error {
			_, err := engine.Render(loaded, values)
			return err
		})
	})
	b.Run("values", func(b *testing.B) {
		measure(b, func() error {
			_, err := chartutil.ToRenderValues(loaded, nil, chartutil.ReleaseOptions{Name: "shop"}, nil)
			return err
		})
	})
}

// measure reports what one call takes of all processors together.
func measure(b *testing.B, do func() error) {
	b.Helper()
	before := cpu(b)
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpu(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

func BenchmarkNew(b *testing.B) {
	in := crowd(500)
	for b.Loop() {
		if _, err := chart.New(in); err != nil {
			b.Fatal(err)
		}
	}
}
