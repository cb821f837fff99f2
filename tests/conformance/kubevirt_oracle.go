// What KubeVirt makes of virtual machines: for each line of JSON on standard input, a line with why
// it is refused, or the name, model and queue pairs of each <interface>.
//
// Built in a source tree of KubeVirt, whose vendor folder has all it needs:
//
//	mkdir cmd/oracle && cp kubevirt_oracle.go cmd/oracle && CGO_ENABLED=0 go build -mod=vendor ./cmd/oracle
package main

import (
	"bufio"
	"encoding/json"
	"os"

	k8sfield "k8s.io/apimachinery/pkg/util/validation/field"
	v1 "kubevirt.io/api/core/v1"

	netadmitter "kubevirt.io/kubevirt/pkg/network/admitter"
	"kubevirt.io/kubevirt/pkg/network/domainspec"
	"kubevirt.io/kubevirt/pkg/network/vmispec"
	"kubevirt.io/kubevirt/pkg/virt-launcher/virtwrap/api"
	archconv "kubevirt.io/kubevirt/pkg/virt-launcher/virtwrap/converter/arch"
	netconv "kubevirt.io/kubevirt/pkg/virt-launcher/virtwrap/converter/network"
	"kubevirt.io/kubevirt/pkg/virt-launcher/virtwrap/converter/virtio"
)

// A cluster with the default configuration.
type cluster struct{}

func (cluster) GetDefaultNetworkInterface() string         { return "masquerade" }
func (cluster) IsBridgeInterfaceOnPodNetworkEnabled() bool { return true }
func (cluster) PasstBindingEnabled() bool                  { return false }
func (cluster) NetworkDevicesWithDRAGateEnabled() bool     { return false }
func (cluster) PortRangesSpecGateEnabled() bool            { return false }

type answer struct {
	Refused []string `json:"refused"`
	NICs    [][3]any `json:"nics"`
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		out.Encode(ask(in.Bytes()))
	}
}

func ask(text []byte) (found answer) {
	vm := v1.VirtualMachine{}
	if err := json.Unmarshal(text, &vm); err != nil {
		found.Refused = []string{err.Error()}
		return found
	}
	vmi := &v1.VirtualMachineInstance{Spec: vm.Spec.Template.Spec}
	if vmi.Spec.Architecture == "" {
		vmi.Spec.Architecture = "amd64"
	}
	if err := vmispec.SetDefaultNetworkInterface(cluster{}, &vmi.Spec); err != nil {
		found.Refused = []string{err.Error()}
		return found
	}
	for _, cause := range netadmitter.Validate(k8sfield.NewPath("spec"), &vmi.Spec, cluster{}) {
		found.Refused = append(found.Refused, cause.Message)
	}
	if found.Refused != nil {
		return found
	}
	devices, arch := vmi.Spec.Domain.Devices, archconv.NewConverter(vmi.Spec.Architecture)
	model := virtio.InterpretTransitionalModelType(devices.UseVirtioTransitional, arch.GetArchitecture())
	domain := &api.Domain{}
	err := netconv.NewDomainConfigurator(
		netconv.WithDomainAttachmentByInterfaceName(domainspec.DomainAttachmentByInterfaceName(devices.Interfaces, nil)),
		netconv.WithROMTuningSupport(arch.IsROMTuningSupported()),
		netconv.WithVirtioModel(model),
	).Configure(vmi, domain)
	if err != nil {
		found.Refused = []string{err.Error()}
		return found
	}
	for _, nic := range domain.Spec.Devices.Interfaces {
		queues := uint(1)
		if nic.Driver != nil && nic.Driver.Queues != nil {
			queues = *nic.Driver.Queues
		}
		found.NICs = append(found.NICs, [3]any{nic.Alias.GetName(), nic.Model.Type, queues})
	}
	return found
}
