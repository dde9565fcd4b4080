
:
net/w
VariableV2*
shape:ÿÿÿÿÿÿÿÿÿ*
T0
W

net/MatMulMatMulxnet/w^init*
T0*'
_output_shapes
:ÿÿÿÿÿÿÿÿÿ

xPlaceholder

netIdentitynet/MatMul:0

initNoOp^net
9
callPartitionedCallnet*
fR
sq*
l	
2sC
A

sq
x
y
in/mulMulxx*
T0"
y
in/mul:z:0