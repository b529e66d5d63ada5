package cluster

import (
	"fmt"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"
)

// kubeadmControllers is what kubeadm itself passes as --controllers. A patch replaces the flag, so
// it has to repeat these; without the last two, no second node could join.
const kubeadmControllers = "*,bootstrapsigner,tokencleaner"

// kindConfig writes the configuration of a cluster of one node, with the sample
// controllers switched off.
//
// kind applies a patch only to a document of the patch's apiVersion, and says nothing if none
// matches. Node images from Kubernetes v1.36 on get v1beta4, where extraArgs is a list, and older
// ones v1beta3, where it's a map; so there's one patch for each.
func kindConfig(originals []string, cgroupV1 bool) ([]byte, error) {
	controllers := controllersFlag(kubeadmControllers, originals)
	patches := []string{
		fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\ncontrollerManager:\n  extraArgs:\n  - name: controllers\n    value: %q\n", controllers),
		fmt.Sprintf("apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\ncontrollerManager:\n  extraArgs:\n    controllers: %q\n", controllers),
	}
	if cgroupV1 {
		// From v1.35 on the kubelet refuses to start on cgroup v1 unless told.
		patches = append(patches, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfailCgroupV1: false\n")
	}
	config, err := yaml.Marshal(v1alpha4.Cluster{
		TypeMeta:             v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes:                []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}},
		KubeadmConfigPatches: patches,
	})
	if err != nil {
		return nil, fmt.Errorf("writing kind's configuration: %w", err)
	}
	return config, nil
}
