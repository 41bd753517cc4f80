package main

import (
	"net"
	"syscall"
	"time"

	"github.com/pion/interceptor"
	"github.com/pion/interceptor/pkg/ccfb"
	"github.com/pion/rtcp"
)

// receive asks for video and reports it, as often as pion's interceptor: with pion's recorder, which gets the ECN field of each packet, or as it
// is with the interceptor, which cannot be given one.
func receive(socket *net.UDPConn, server net.Addr, asItIs bool) {
	write := interceptor.RTCPWriterFunc(func(packets []rtcp.Packet, _ interceptor.Attributes) (int, error) {
		return socket.WriteTo(must(rtcp.Marshal(packets)), server)
	})
	must(write([]rtcp.Packet{&rtcp.ReceiverReport{SSRC: 2}}, nil))
	control := make([]byte, syscall.CmsgSpace(1))
	var reader interceptor.RTPReader = interceptor.RTPReaderFunc(
		func(buffer []byte, attributes interceptor.Attributes) (int, interceptor.Attributes, error) {
			size, _, _, _, err := socket.ReadMsgUDPAddrPort(buffer, control)
			return size, attributes, err
		})
	if asItIs {
		own := must(must(ccfb.NewSenderInterceptor()).NewInterceptor(""))
		own.BindRTCPWriter(write)
		reader = own.BindRemoteStream(nil, reader)
	}
	recorder, last, buffer := ccfb.NewRecorder(), time.Now(), make([]byte, 2_000)
	for {
		size, attributes, err := reader.Read(buffer, interceptor.Attributes{})
		header, now := must(attributes.GetRTPHeader(buffer[:must(size, err)])), time.Now()
		if asItIs {
			continue
		}
		recorder.AddPacket(now, header.SSRC, header.SequenceNumber, control[syscall.SizeofCmsghdr]&3)
		if now.Sub(last) >= 100*time.Millisecond {
			last = now
			must(write([]rtcp.Packet{recorder.BuildReport(now, 1_200)}, nil))
		}
	}
}
