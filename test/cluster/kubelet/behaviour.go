package kubelet

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The annotations that tell a pod how to behave. They may stand on the pod's
// namespace instead, where they hold for all pods that start from then on, or
// for those whose names match the pattern in Only.
const (
	Crash      = prefix + "crash"       // "true": every run ends with exit code 1; "3": the first three do
	NeverReady = prefix + "never-ready" // "true": containers run and are never ready
	ReadyAfter = prefix + "ready-after" // a duration from when a container started
	Linger     = prefix + "linger"      // how long containers take to end once told to, the grace period at most
	Log        = prefix + "log"         // what containers write before anything else
	PrintEnv   = prefix + "print-env"   // "true": containers write their environment, one JSON object on one line
	Only       = prefix + "only"        // on a namespace: a pattern of pod names, as in path.Match

	prefix = "kubetest.toa.io/"
)

// Behaviour is what becomes of a pod's containers. The zero value is healthy.
type Behaviour struct {
	Crashes    int // how many runs fail
	NeverReady bool
	ReadyAfter time.Duration
	Linger     time.Duration
	Log        string
	PrintEnv   bool
}

// behaviour asks for the namespace, rather than to watch it, so that what a test
// has just written holds.
func (k *Kubelet) behaviour(ctx context.Context, pod *corev1.Pod) (Behaviour, error) {
	namespace, err := k.client.CoreV1().Namespaces().Get(ctx, pod.Namespace, metav1.GetOptions{})
	if err != nil {
		return Behaviour{}, fmt.Errorf("get namespace: %w", err)
	}
	all := map[string]string{}
	if pattern := namespace.Annotations[Only]; pattern == "" {
		maps.Copy(all, namespace.Annotations)
	} else if match, err := path.Match(pattern, pod.Name); err != nil {
		return Behaviour{}, fmt.Errorf("match %s: %w", Only, err)
	} else if match {
		maps.Copy(all, namespace.Annotations)
	}
	maps.Copy(all, pod.Annotations)
	return parseBehaviour(all)
}

func parseBehaviour(annotations map[string]string) (Behaviour, error) {
	b := Behaviour{Log: annotations[Log]}
	for name, read := range map[string]func(string) error{
		Crash:      func(v string) (err error) { b.Crashes, err = parseCrashes(v); return err },
		NeverReady: func(v string) (err error) { b.NeverReady, err = strconv.ParseBool(v); return err },
		PrintEnv:   func(v string) (err error) { b.PrintEnv, err = strconv.ParseBool(v); return err },
		ReadyAfter: func(v string) (err error) { b.ReadyAfter, err = time.ParseDuration(v); return err },
		Linger:     func(v string) (err error) { b.Linger, err = time.ParseDuration(v); return err },
	} {
		if value := annotations[name]; value != "" {
			if err := read(value); err != nil {
				return b, fmt.Errorf("read annotation %s: %w", name, err)
			}
		}
	}
	if !strings.HasSuffix(b.Log, "\n") && b.Log != "" {
		b.Log += "\n"
	}
	return b, nil
}

// parseCrashes reads a number, or whether there is no end to them.
func parseCrashes(value string) (int, error) {
	if number, err := strconv.Atoi(value); err == nil {
		return number, nil
	}
	always, err := strconv.ParseBool(value)
	if always {
		return 1 << 30, nil
	}
	return 0, err
}
