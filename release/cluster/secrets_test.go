package cluster

import (
	"slices"
	"testing"
)

// needy refers to secrets in every way that there is.
const needy = `apiVersion: apps/v1
kind: Deployment
metadata: {name: needy}
spec:
  selector: {matchLabels: {app: needy}}
  template:
    metadata: {labels: {app: needy}}
    spec:
      imagePullSecrets: [{name: pull}]
      volumes:
        - {name: a, secret: {secretName: files}}
        - {name: b, secret: {secretName: maybe-files, optional: true}}
        - {name: c, emptyDir: {}}
      initContainers:
        - name: first
          image: i
          env: [{name: A, valueFrom: {secretKeyRef: {name: toa-amqp, key: username}}}]
      containers:
        - name: main
          image: i
          envFrom:
            - {secretRef: {name: all-of-it}}
            - {secretRef: {name: maybe, optional: true}}
            - {configMapRef: {name: no-secret}}
          env:
            - {name: B, valueFrom: {secretKeyRef: {name: toa-amqp, key: password}}}
            - {name: C, valueFrom: {secretKeyRef: {name: toa-amqp, key: username}}}
            - {name: D, valueFrom: {secretKeyRef: {name: maybe, key: x, optional: true}}}
            - {name: E, valueFrom: {secretKeyRef: {name: brought, key: x}}}
            - {name: F, value: plain}
`

func TestRequiredSecrets(t *testing.T) {
	objects, err := Objects(needy + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: brought}\n---\n" + configMap("map", "1"))
	if err != nil {
		t.Fatal(err)
	}
	required, err := requiredSecrets(objects)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for secret, keys := range required {
		for key := range keys {
			got = append(got, secret+"/"+key)
		}
	}
	slices.Sort(got)
	if want := []string{"all-of-it/", "files/", "pull/", "toa-amqp/password", "toa-amqp/username"}; !slices.Equal(got, want) {
		t.Errorf("required are %q, want %q", got, want)
	}
}

func TestHintOfMissingSecrets(t *testing.T) {
	for _, test := range []struct {
		missing []string
		want    string
	}{
		{[]string{"pull", "toa-amqp/username"}, "`toa conceal amqp username=VALUE -n prod` makes one"},
		{[]string{"pull"}, "`kubectl create secret --help` says how to make pull"},
	} {
		if got := (&SecretsError{Namespace: "prod", Missing: test.missing}).Hint(); got != test.want {
			t.Errorf("the hint for %q is %q, want %q", test.missing, got, test.want)
		}
	}
}
