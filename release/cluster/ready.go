package cluster

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"toa.io/toa/orchestrator"
)

// state is how far one object is.
type state struct {
	orchestrator.Workload
	done     bool
	problems []Problem
}

// title names the object for people.
func (s state) title() string { return s.Kind + " " + s.Name }

// view is a mirror with what belongs together brought together.
type view struct {
	mirror
	namespace string
	pods      map[types.UID][]*corev1.Pod        // by controller
	replicas  map[types.UID][]*appsv1.ReplicaSet // by Deployment
}

func newView(m mirror, namespace string) *view {
	v := &view{mirror: m, namespace: namespace, pods: map[types.UID][]*corev1.Pod{}, replicas: map[types.UID][]*appsv1.ReplicaSet{}}
	for _, pod := range all[corev1.Pod](m, "Pod") {
		if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
			v.pods[owner.UID] = append(v.pods[owner.UID], pod)
		}
	}
	for _, set := range all[appsv1.ReplicaSet](m, "ReplicaSet") {
		if owner := metav1.GetControllerOfNoCopy(set); owner != nil {
			v.replicas[owner.UID] = append(v.replicas[owner.UID], set)
		}
	}
	return v
}

// all are the objects of one kind; none where it is not followed.
func all[T any](m mirror, kind string) []*T {
	store, ok := m[kind]
	if !ok {
		return nil
	}
	items := store.List()
	typed := make([]*T, 0, len(items))
	for _, item := range items {
		if object, ok := item.(*T); ok {
			typed = append(typed, object)
		}
	}
	return typed
}

// look tells how far one object is.
func (v *view) look(kind, name string) state {
	found, ok, err := v.mirror[kind].GetByKey(v.namespace + "/" + name)
	s := state{Workload: orchestrator.Workload{Kind: kind, Name: name}}
	if err != nil || !ok {
		s.problem(Problem{Reason: reasonGone, Message: "it was deleted"})
		return s
	}
	switch object := found.(type) {
	case *appsv1.Deployment:
		v.deployment(&s, object)
	case *appsv1.StatefulSet:
		v.statefulSet(&s, object)
	case *appsv1.DaemonSet:
		v.daemonSet(&s, object)
	case *batchv1.Job:
		v.job(&s, object)
	case *corev1.PersistentVolumeClaim:
		claim(&s, object)
	case *corev1.Service:
		s.Desired, s.Ready = 1, len(object.Status.LoadBalancer.Ingress)+len(object.Spec.ExternalIPs)
		s.done = s.Ready > 0
	}
	return s
}

// deployment is done when all pods are of the newest template and available,
// and none of an older one is left.
func (v *view) deployment(s *state, d *appsv1.Deployment) {
	s.Desired = wanted(d.Spec.Replicas)
	if d.Spec.Paused {
		s.problem(Problem{Reason: reasonPaused, Message: "its rollout is paused"})
	}
	if d.Status.ObservedGeneration < d.Generation {
		return // what the status says is of an older template
	}
	newest := v.newest(d)
	if newest == nil {
		return
	}
	s.Ready = int(newest.Status.AvailableReplicas)
	s.done = s.Ready >= s.Desired && int(d.Status.UpdatedReplicas) >= s.Desired && d.Status.Replicas == d.Status.UpdatedReplicas
	if s.done {
		return
	}
	s.inspect(v.pods[newest.UID])
	for _, condition := range d.Status.Conditions {
		failed := condition.Type == appsv1.DeploymentReplicaFailure && condition.Status == corev1.ConditionTrue
		stalled := condition.Type == appsv1.DeploymentProgressing && condition.Status == corev1.ConditionFalse
		if failed || stalled {
			s.problem(Problem{Reason: condition.Reason, Message: condition.Message})
		}
	}
}

// podsOf are the pods that an object has made.
func (v *view) podsOf(kind, name string) []*corev1.Pod {
	found, ok, err := v.mirror[kind].GetByKey(v.namespace + "/" + name)
	owner, described := found.(metav1.Object)
	if err != nil || !ok || !described {
		return nil
	}
	pods := v.pods[owner.GetUID()]
	for _, set := range v.replicas[owner.GetUID()] {
		pods = append(pods, v.pods[set.UID]...)
	}
	return pods
}

// newest is the ReplicaSet of the template that a Deployment has now: both
// carry the number of the revision.
func (v *view) newest(d *appsv1.Deployment) *appsv1.ReplicaSet {
	const revision = "deployment.kubernetes.io/revision"
	for _, set := range v.replicas[d.UID] {
		if set.Annotations[revision] == d.Annotations[revision] && set.Annotations[revision] != "" {
			return set
		}
	}
	return nil
}

func (v *view) statefulSet(s *state, set *appsv1.StatefulSet) {
	s.Desired = wanted(set.Spec.Replicas)
	if set.Status.ObservedGeneration < set.Generation {
		return
	}
	s.Ready = int(set.Status.ReadyReplicas)
	updated := s.Desired
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		updated = 0
	} else if rolling := set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		updated = max(0, s.Desired-int(*rolling.Partition))
	}
	s.done = s.Ready >= s.Desired && int(set.Status.UpdatedReplicas) >= updated
	if !s.done {
		s.inspect(v.pods[set.UID])
	}
}

func (v *view) daemonSet(s *state, set *appsv1.DaemonSet) {
	if set.Status.ObservedGeneration < set.Generation {
		return
	}
	s.Desired, s.Ready = int(set.Status.DesiredNumberScheduled), int(set.Status.NumberAvailable)
	updated := set.Spec.UpdateStrategy.Type == appsv1.OnDeleteDaemonSetStrategyType || int(set.Status.UpdatedNumberScheduled) >= s.Desired
	s.done = s.Ready >= s.Desired && updated
	if !s.done {
		s.inspect(v.pods[set.UID])
	}
}

// job is done when it is complete.
func (v *view) job(s *state, job *batchv1.Job) {
	s.Desired, s.Ready = wanted(job.Spec.Completions), int(job.Status.Succeeded)
	for _, condition := range job.Status.Conditions {
		holds := condition.Status == corev1.ConditionTrue
		s.done = s.done || holds && condition.Type == batchv1.JobComplete
		if holds && condition.Type == batchv1.JobFailed {
			s.problem(Problem{Reason: reasonFailedJob, Message: condition.Reason + ": " + condition.Message})
		}
	}
	if !s.done {
		s.inspect(v.pods[job.UID])
	}
}

func claim(s *state, c *corev1.PersistentVolumeClaim) {
	s.Desired = 1
	if c.Status.Phase == corev1.ClaimBound {
		s.Ready, s.done = 1, true
	}
	if c.Status.Phase == corev1.ClaimLost {
		s.problem(Problem{Reason: reasonLost, Message: "its volume is gone"})
	}
}

// wanted is a number of pods that Kubernetes takes for one where none is stated.
func wanted(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// problem notes what keeps the object from being done.
func (s *state) problem(p Problem) {
	p.Workload = s.title()
	s.problems = append(s.problems, p)
	if s.Reason == "" {
		s.Reason = p.Reason
	}
}

// inspect notes what is wrong with pods.
func (s *state) inspect(pods []*corev1.Pod) {
	for _, pod := range pods {
		for _, p := range diagnose(pod) {
			s.problem(p)
		}
	}
}

// progress is said where nothing is known to be wrong.
func (s state) progress() string {
	return fmt.Sprintf("%d of %d ready", s.Ready, s.Desired)
}

// since rounds what has passed for people.
func since(start, now time.Time) time.Duration { return now.Sub(start).Round(time.Second) }
