package release_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"toa.io/toa/chart"
	"toa.io/toa/extensions"
)

// Kubernetes takes every name that the check takes.
func TestKubernetesTakesWhatCheckTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := platform()
		rename(t, in.Deployment)
		if chart.CheckDeployment(in.Workspace, in.Deployment) != nil {
			return
		}
		checkObjects(t, objects(t, render(t, unpacked(t, filled(t, in)), nil)))
	})
}

func TestKubernetesTakesTheGoldens(t *testing.T) {
	for _, in := range workspaces() {
		checkObjects(t, objects(t, render(t, load(t, filled(t, in)), nil)))
	}
}

// rename replaces some names, mostly by ones near the limits.
func rename(t *rapid.T, d *extensions.Deployment) {
	near := rapid.StringMatching(`[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?`)
	odd := rapid.StringMatching(`[a-zA-Z0-9_./*: -]{0,70}`)
	long := rapid.Map(rapid.IntRange(35, 70), func(n int) string { return strings.Repeat("a", n) })
	name := rapid.OneOf(near, long, odd)
	u, s, m := &d.Units[0], &d.Services[2], &d.Units[0].Mounts[0]
	for _, field := range []*string{
		&u.Components[0], &u.Variables[0].Name, &u.Variables[3].Secret.Name, &u.Variables[3].Secret.Key,
		&m.Name, &m.Claim, &s.Name, &s.Ingress.Hosts[0], &s.Ingress.Class,
	} {
		if rapid.IntRange(0, 3).Draw(t, "change") == 0 {
			*field = name.Draw(t, "name")
		}
	}
	u.Hosted[0] = s.ID()
	if rapid.Bool().Draw(t, "annotate") {
		s.Annotations = map[string]string{name.Draw(t, "domain") + "/" + name.Draw(t, "annotation"): ""}
	}
}

// checkObjects asks Kubernetes' own rules.
func checkObjects(t tester, all []runtime.Object) {
	t.Helper()
	for _, object := range all {
		switch o := object.(type) {
		case *corev1.Service:
			accept(t, "service", o.Name, validation.IsDNS1035Label)
			acceptKeys(t, o.Annotations)
			acceptLabels(t, o.Spec.Selector)
			for _, port := range o.Spec.Ports {
				accept(t, "port", port.Name, validation.IsValidPortName)
			}
		case *networkingv1.Ingress:
			accept(t, "ingress", o.Name, validation.IsDNS1123Subdomain)
			acceptKeys(t, o.Annotations)
			if class := o.Spec.IngressClassName; class != nil {
				accept(t, "class", *class, validation.IsDNS1123Subdomain)
			}
			for _, rule := range o.Spec.Rules {
				accept(t, "host", rule.Host, isHost)
			}
		case *appsv1.Deployment:
			accept(t, "deployment", o.Name, validation.IsDNS1123Subdomain)
			acceptLabels(t, o.Spec.Template.Labels)
			acceptPod(t, o.Spec.Template.Spec)
		}
	}
}

func acceptPod(t tester, pod corev1.PodSpec) {
	t.Helper()
	container := pod.Containers[0]
	accept(t, "container", container.Name, validation.IsDNS1123Label)
	for _, v := range container.Env {
		accept(t, "variable", v.Name, validation.IsEnvVarName)
		if v.ValueFrom != nil {
			accept(t, "secret", v.ValueFrom.SecretKeyRef.Name, validation.IsDNS1123Subdomain)
			accept(t, "key", v.ValueFrom.SecretKeyRef.Key, validation.IsConfigMapKey)
		}
	}
	for _, v := range pod.Volumes {
		accept(t, "volume", v.Name, validation.IsDNS1123Label)
		if v.PersistentVolumeClaim != nil {
			accept(t, "claim", v.PersistentVolumeClaim.ClaimName, validation.IsDNS1123Subdomain)
		}
	}
}

func acceptLabels(t tester, labels map[string]string) {
	t.Helper()
	acceptKeys(t, labels)
	for _, value := range labels {
		accept(t, "label", value, validation.IsValidLabelValue)
	}
}

func acceptKeys(t tester, keyed map[string]string) {
	t.Helper()
	for key := range keyed {
		accept(t, "key", strings.ToLower(key), validation.IsQualifiedName)
	}
}

func accept(t tester, what, name string, rule func(string) []string) {
	t.Helper()
	if messages := rule(name); len(messages) > 0 {
		t.Errorf("%s %q: %s", what, name, strings.Join(messages, "; "))
	}
}

func isHost(host string) []string {
	if strings.Contains(host, "*") {
		return validation.IsWildcardDNS1123Subdomain(host)
	}
	if host == "" {
		return nil // the rule for any other host
	}
	return validation.IsDNS1123Subdomain(host)
}
