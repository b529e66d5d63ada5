package main

import (
	"fmt"
	"strings"

	pod "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
)

// missing matches images that no registry can have: those of a host below .invalid, a domain that RFC 2606 keeps
// free of hosts. So a Pod that names one behaves as on a real node, where pulling it fails.
const missing = `^[^/]*[.]invalid(:[0-9]+)?/`

// hasMissing is a requirement of a stage: whether one of a Pod's images is missing.
const hasMissing = `    - key: '.spec.containers[].image | test("` + missing + `")'
      operator: '%s'
      values:
      - 'true'
`

// podReady is kwok's stage for Pods that start, for those that have their images.
func podReady() (string, error) {
	const begin = "    matchExpressions:\n"
	if strings.Count(pod.DefaultPodReady, begin) != 1 {
		return "", fmt.Errorf("kwok's stage pod-ready has changed: want one %q in it", begin)
	}
	return strings.Replace(pod.DefaultPodReady, begin, begin+fmt.Sprintf(hasMissing, "NotIn"), 1), nil
}

// podImageMissing is what happens to the others: they get an address, and wait. On a real node, containers whose
// images are there would run.
var podImageMissing = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-image-missing
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
` + fmt.Sprintf(hasMissing, "In") + `    - key: '.metadata.deletionTimestamp'
      operator: 'DoesNotExist'
    - key: '.status.phase'
      operator: 'In'
      values:
      - 'Pending'
    - key: '.status.podIP'
      operator: 'DoesNotExist'
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: Ready, status: "False", reason: ContainersNotReady, lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "False", reason: ContainersNotReady, lastTransitionTime: {{ $now | Quote }}}
      containerStatuses:
      {{ range .spec.containers }}
      - image: {{ .image | Quote }}
        name: {{ .name | Quote }}
        ready: false
        restartCount: 0
        state:
          waiting:
            reason: {{ if regexMatch "` + missing + `" .image }}ErrImagePull{{ else }}ContainerCreating{{ end }}
      {{ end }}
      {{ $hostIPs := NodeIPsWith .spec.nodeName }}
      {{ with $hostIPs }}
      hostIP: {{ index . 0 | Quote }}
      hostIPs:
      {{ range . }}
      - ip: {{ . | Quote }}
      {{ end }}
      {{ end }}
      {{ $podIPs := PodIPsWith .spec.nodeName ( or .spec.hostNetwork false ) ( or .metadata.uid "" ) ( or .metadata.name "" ) ( or .metadata.namespace "" ) }}
      {{ with $podIPs }}
      podIP: {{ index . 0 | Quote }}
      podIPs:
      {{ range . }}
      - ip: {{ . | Quote }}
      {{ end }}
      {{ end }}
      phase: Pending
      startTime: {{ $now | Quote }}
`
