package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"toa.io/toa/internal/enginetest"
	"toa.io/toa/internal/kubetest"
	"toa.io/toa/release"
	"toa.io/toa/release/cluster"
)

// TestClusterScripts are the promises of the command line about releases, on a
// real control plane and a real engine.
func TestClusterScripts(t *testing.T) {
	t.Parallel()
	kube, engine := kubetest.Start(t), enginetest.BuildKit(t)
	params := scripts(t, "testdata/cluster", "KUBECONFIG="+kube.Kubeconfig, "CLUSTER="+kube.Context, "ENGINE="+engine)
	params.Cmds = map[string]func(*testscript.TestScript, bool, []string){
		"registry":  startRegistry,
		"requests":  countRequests,
		"base":      pushBase(t),
		"reference": copyReference,
		"replace":   replaceText,
		"copydir":   copyDirectory,
		"namespace": makeNamespace(kube.Client),
		"pods":      listPods(kube.Client),
		"tagged":    checkTag,
		"accepted":  checkAccepted(kube),
	}
	testscript.Run(t, params)
}

// clusterPatience is how long a cluster may take for what it does by itself.
const clusterPatience = time.Minute

// makeNamespace makes a namespace. Annotations tell its pods how to misbehave.
func makeNamespace(kube kubernetes.Interface) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 {
			ts.Fatalf("usage: namespace NAME [ANNOTATION=VALUE]...")
		}
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: args[0], Annotations: map[string]string{}}}
		for _, annotation := range args[1:] {
			key, value, _ := strings.Cut(annotation, "=")
			made.Annotations[key] = value
		}
		_, err := kube.CoreV1().Namespaces().Create(context.Background(), made, metav1.CreateOptions{})
		ts.Check(err)
	}
}

// listPods writes a line for each pod that is not being deleted, "workload uid
// image", once all are ready.
func listPods(kube kubernetes.Interface) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 2 {
			ts.Fatalf("usage: pods NAMESPACE FILE")
		}
		ctx, cancel := context.WithTimeout(context.Background(), clusterPatience)
		defer cancel()
		pods, err := kube.CoreV1().Pods(args[0]).List(ctx, metav1.ListOptions{})
		ts.Check(err)
		var lines []string
		for _, pod := range pods.Items {
			if !isReady(pod) {
				ts.Fatalf("pod %s is not ready: %+v", pod.Name, pod.Status)
			}
			workload := strings.Join(strings.Split(pod.Name, "-")[:strings.Count(pod.Name, "-")-1], "-")
			lines = append(lines, fmt.Sprintln(workload, pod.UID, pod.Spec.Containers[0].Image))
		}
		slices.Sort(lines)
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(lines, "")), 0o644))
	}
}

func isReady(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// checkAccepted has the API server judge manifests, in a namespace.
func checkAccepted(kube *kubetest.Cluster) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) < 2 {
			ts.Fatalf("usage: accepted NAMESPACE FILE...")
		}
		c, err := cluster.Open(release.Target{Kubeconfig: kube.Kubeconfig, Context: kube.Context, Namespace: args[0], Name: "accepted"})
		ts.Check(err)
		for _, file := range args[1:] {
			if err := c.DryRun(context.Background(), ts.ReadFile(file)); (err != nil) != neg {
				ts.Fatalf("%s: %v", file, err)
			}
		}
	}
}

// checkTag checks which digest a tag of a reference's repository names.
func checkTag(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: tagged REFERENCE-FILE TAG")
	}
	name, digest, _ := strings.Cut(strings.TrimSpace(ts.ReadFile(args[0])), "@")
	host, repository, _ := strings.Cut(name[:strings.LastIndex(name, ":")], "/")
	request, err := http.NewRequest(http.MethodHead, "http://"+host+"/v2/"+repository+"/manifests/"+args[1], nil)
	ts.Check(err)
	request.Header["Accept"] = []string{"application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"}
	response, err := http.DefaultClient.Do(request)
	ts.Check(err)
	ts.Check(response.Body.Close())
	if got := response.Header.Get("Docker-Content-Digest"); (got == digest) == neg {
		ts.Fatalf("%s:%s is %q, the image is %s", repository, args[1], got, digest)
	}
}
