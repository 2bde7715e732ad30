package kubelet

import (
	"context"
	"fmt"
	"net"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Register makes the nodes known, ready for pods.
func (k *Kubelet) Register(ctx context.Context) error {
	for i := range k.nodes {
		if err := k.register(ctx, fmt.Sprintf("node-%d", i)); err != nil {
			return fmt.Errorf("register node %d: %w", i, err)
		}
	}
	return nil
}

func (k *Kubelet) register(ctx context.Context, name string) error {
	nodes := k.client.CoreV1().Nodes()
	labels := map[string]string{corev1.LabelHostname: name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH}
	node, err := nodes.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err != nil {
		return err
	}
	node.Status = k.nodeStatus()
	if node, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	// Admission taints a new node as not ready. The controller that would remove
	// the taint wants heartbeats, so it does not run here.
	node.Spec.Taints = nil
	_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
	return err
}

func (k *Kubelet) nodeStatus() corev1.NodeStatus {
	plenty := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1000"),
		corev1.ResourceMemory: resource.MustParse("4Ti"),
		corev1.ResourcePods:   resource.MustParse("10000"),
	}
	return corev1.NodeStatus{
		Capacity:    plenty,
		Allocatable: plenty,
		Conditions: []corev1.NodeCondition{
			nodeCondition(corev1.NodeReady, corev1.ConditionTrue),
			nodeCondition(corev1.NodeMemoryPressure, corev1.ConditionFalse),
			nodeCondition(corev1.NodeDiskPressure, corev1.ConditionFalse),
		},
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{
			KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(k.listener.Addr().(*net.TCPAddr).Port)},
		},
		NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: runtime.GOARCH},
	}
}

func nodeCondition(kind corev1.NodeConditionType, status corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: kind, Status: status, Reason: "Played", LastHeartbeatTime: now, LastTransitionTime: now}
}
