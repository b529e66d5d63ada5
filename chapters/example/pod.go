package example

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodFor returns a Pod that serves the page of a Website. The image is that of a web server.
func PodFor(site *Website, image string) *corev1.Pod {
	page := corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: site.Spec.Page},
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: site.Namespace, GenerateName: site.Name + "-",
			Labels: map[string]string{Label: site.Name},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "server", Image: image,
				VolumeMounts: []corev1.VolumeMount{{Name: "page", MountPath: "/page"}},
			}},
			Volumes: []corev1.Volume{{
				Name: "page", VolumeSource: corev1.VolumeSource{ConfigMap: &page},
			}},
		},
	}
}
