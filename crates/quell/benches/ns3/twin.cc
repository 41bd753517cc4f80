// The scenario of the speed comparison in ns-3: bulk CUBIC downloads over one drop-tail bottleneck.
//
// Three forms of it:
//   * `bare` is the least that ns-3 can do: two nodes, whose one link is the bottleneck and the base
//     RTT, so that all flows have one base RTT and share one host at each end. Packets and goodput are
//     read from counters that ns-3 keeps anyway; the queue's delay is that of Little's law, from its
//     length every 10 ms.
//   * `dumbbell` is what quell simulates: each flow has hosts and a delay of its own around the
//     bottleneck, so two routers forward by global routing, on access links that take no time. It
//     measures some of what quell measures: the delay of each packet in the queue, in a histogram,
//     and each flow's goodput every 100 ms.
//   * `monitored` is the dumbbell with ns-3's own FlowMonitor at all hosts, as its manual has it.
// No form has a queue disc or ARP (a point-to-point link has none), and none writes a file.
// What the two models do not share:
//   * The queue counts packets with the 2 bytes of PPP that ns-3 puts on the link, so rate and limit
//     are scaled by 1502/1500.
//   * TCP is ns-3's: CUBIC with HyStart, SACK, PRR, timestamps, delayed ACK, no RACK, no TLP.
//
// Arguments: form, flows, rate in bit/s, base RTT in us, queue limit in bytes, warm-up in s, end in
// s. Prints one line of `key=value`.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/flow-monitor-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sys/resource.h>
#include <vector>

using namespace ns3;

namespace
{

const uint32_t SEGMENT = 1448;
const uint64_t PACKET = 1500;
const uint64_t PPP = 2;
const uint16_t PORT = 5001;

/// User time: what the system does for ns-3 is left out.
double
CpuSeconds()
{
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_utime.tv_usec * 1e-6;
}

/// What a link that does not limit anything has: a terabit per second.
const uint64_t UNLIMITED = 1'000'000'000'000;

/// What is counted of the bottleneck and of all receivers.
struct Counters
{
    Ptr<Queue<Packet>> queue;
    ApplicationContainer sinks;
    uint64_t lengths{0};
    uint64_t samples{0};

    /// Packets that left the queue.
    uint64_t Delivered() const
    {
        return queue->GetTotalReceivedPackets() - queue->GetNPackets();
    }

    uint64_t Goodput() const
    {
        uint64_t bytes = 0;
        for (uint32_t sink = 0; sink < sinks.GetN(); sink++)
        {
            bytes += DynamicCast<PacketSink>(sinks.Get(sink))->GetTotalRx();
        }
        return bytes;
    }

    void Sample()
    {
        lengths += queue->GetNBytes();
        samples++;
        Simulator::Schedule(MilliSeconds(10), &Counters::Sample, this);
    }
};

/// What the `dumbbell` measures packet by packet.
struct Measurement
{
    /// Arrivals of what waits: the queue is first in, first out.
    std::deque<Time> arrivals;
    /// Delays by tenths of a millisecond.
    std::vector<uint64_t> histogram = std::vector<uint64_t>(10'000);
    Time sum;
    uint64_t packets{0};
    /// Each flow's payload at the end of each interval.
    std::vector<uint64_t> series;

    void Enqueued(Ptr<const Packet>)
    {
        arrivals.push_back(Simulator::Now());
    }

    void Dequeued(Ptr<const Packet>)
    {
        const Time delay = Simulator::Now() - arrivals.front();
        arrivals.pop_front();
        const uint64_t bucket = delay.GetMicroSeconds() / 100;
        histogram[std::min<uint64_t>(bucket, histogram.size() - 1)]++;
        sum += delay;
        packets++;
    }

    void Sample(const ApplicationContainer* sinks)
    {
        for (uint32_t sink = 0; sink < sinks->GetN(); sink++)
        {
            series.push_back(DynamicCast<PacketSink>(sinks->Get(sink))->GetTotalRx());
        }
        Simulator::Schedule(MilliSeconds(100), &Measurement::Sample, this, sinks);
    }
};

/// Links between pairs of nodes, each pair with a network of its own.
struct Links
{
    InternetStackHelper internet;
    Ipv4AddressHelper addresses{"10.0.0.0", "255.255.255.0"};

    Ipv4InterfaceContainer Join(const NetDeviceContainer& devices)
    {
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return interfaces;
    }
};

void
Configure()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::TcpCubic"));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(SEGMENT));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

} // namespace

int
main(int argc, char* argv[])
{
    if (argc != 8)
    {
        std::fprintf(stderr, "usage: %s FORM FLOWS RATE RTT_US LIMIT WARMUP END\n", argv[0]);
        return 2;
    }
    auto number = [argv](int argument) { return std::strtoull(argv[argument], nullptr, 10); };
    const bool isMonitored = !std::strcmp(argv[1], "monitored");
    const bool isDumbbell = isMonitored || !std::strcmp(argv[1], "dumbbell");
    const uint64_t flows = number(2);
    const uint64_t rate = number(3);
    const Time delay = MicroSeconds(number(4)) / 2;
    const uint64_t limit = number(5);
    const Time warmup = Seconds(number(6));
    const Time end = Seconds(number(7));

    Configure();
    // The two ends of the bottleneck, and the hosts of each flow, which may be the same.
    NodeContainer ends(2);
    NodeContainer senders;
    NodeContainer receivers;
    if (isDumbbell)
    {
        senders.Create(flows);
        receivers.Create(flows);
    }
    else
    {
        senders.Add(ends.Get(0));
        receivers.Add(ends.Get(1));
    }

    PointToPointHelper link;
    // Without it there is no queue disc, and no packet vanishes uncounted above a full queue.
    link.DisableFlowControl();
    link.SetQueue("ns3::DropTailQueue<Packet>",
                  "MaxSize",
                  QueueSizeValue(QueueSize(BYTES, limit * (PACKET + PPP) / PACKET)));
    link.SetChannelAttribute("Delay", TimeValue(isDumbbell ? Time(0) : delay));
    NetDeviceContainer devices = link.Install(ends);
    auto forward = DynamicCast<PointToPointNetDevice>(devices.Get(0));
    forward->SetDataRate(DataRate(rate * (PACKET + PPP) / PACKET));
    // Acknowledgements do not queue.
    DynamicCast<PointToPointNetDevice>(devices.Get(1))->SetDataRate(DataRate(UNLIMITED));

    Links links;
    links.internet.SetIpv6StackInstall(false);
    links.internet.InstallAll();
    std::vector<Ipv4Address> destinations(flows, links.Join(devices).GetAddress(1));
    if (isDumbbell)
    {
        PointToPointHelper access;
        access.DisableFlowControl();
        access.SetDeviceAttribute("DataRate", DataRateValue(DataRate(UNLIMITED)));
        access.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1000000p"));
        for (uint64_t flow = 0; flow < flows; flow++)
        {
            access.SetChannelAttribute("Delay", TimeValue(Time(0)));
            links.Join(access.Install(senders.Get(flow), ends.Get(0)));
            access.SetChannelAttribute("Delay", TimeValue(delay));
            auto last = links.Join(access.Install(ends.Get(1), receivers.Get(flow)));
            destinations[flow] = last.GetAddress(1);
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    }

    Counters counters;
    counters.queue = forward->GetQueue();
    for (uint64_t flow = 0; flow < flows; flow++)
    {
        const uint16_t port = PORT + flow;
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(destinations[flow], port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(SEGMENT));
        bulk.Install(senders.Get(flow % senders.GetN())).Start(MicroSeconds(flow * 7'919 % 40'000));
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        counters.sinks.Add(sink.Install(receivers.Get(flow % receivers.GetN())));
    }

    Measurement measurement;
    FlowMonitorHelper monitor;
    if (isDumbbell)
    {
        auto queue = counters.queue;
        queue->TraceConnectWithoutContext("Enqueue",
                                          MakeCallback(&Measurement::Enqueued, &measurement));
        queue->TraceConnectWithoutContext("Dequeue",
                                          MakeCallback(&Measurement::Dequeued, &measurement));
        measurement.Sample(&counters.sinks);
    }
    if (isMonitored)
    {
        monitor.Install(NodeContainer(senders, receivers));
    }

    // Nothing before the first event counts.
    const double cpuAtStart = CpuSeconds();
    Simulator::Stop(warmup);
    Simulator::Run();
    const uint64_t deliveredBefore = counters.Delivered();
    const uint64_t goodputBefore = counters.Goodput();
    const uint64_t droppedBefore = counters.queue->GetTotalDroppedPackets();
    measurement.sum = Time(0);
    measurement.packets = 0;
    counters.Sample();
    Simulator::Stop(end - warmup);
    Simulator::Run();
    const double cpu = CpuSeconds() - cpuAtStart;

    const double span = (end - warmup).GetSeconds();
    const uint64_t measured = counters.Delivered() - deliveredBefore;
    const double meanLength = static_cast<double>(counters.lengths) / counters.samples;
    const double meanDelay = measurement.packets > 0
                                 ? measurement.sum.GetSeconds() * 1e3 / measurement.packets
                                 : meanLength * 8e3 / (rate * (PACKET + PPP) / PACKET);
    std::printf("packets=%llu events=%llu cpu_s=%.6f utilisation=%.6f delay_ms=%.4f "
                "goodput_bps=%.0f drop_ratio=%.6f\n",
                static_cast<unsigned long long>(counters.Delivered()),
                static_cast<unsigned long long>(Simulator::GetEventCount()),
                cpu,
                measured * PACKET * 8 / span / rate,
                meanDelay,
                (counters.Goodput() - goodputBefore) * 8 / span,
                static_cast<double>(counters.queue->GetTotalDroppedPackets() - droppedBefore) /
                    (measured + counters.queue->GetTotalDroppedPackets() - droppedBefore));
    Simulator::Destroy();
    return 0;
}
