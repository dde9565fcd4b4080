#loc1 = loc("Net[net]|Conv[getattr(net.layer, '1')]|f.py:3|aten__conv")
module @m attributes {a.b = 1 : i32} {
  func.func private @f(%arg0: tensor<8xf32>) -> tensor<8xf32> {
    return %arg0 : tensor<8xf32>
  }
  func.func @main(%arg0: tensor<8xf32> {k = "v"} loc("x"), %arg1: tensor<i32>) -> (tensor<8xf32> {r = ""}) {
    %c = stablehlo.constant dense<"0xABCDEF"> : tensor<f32> loc(#loc1)
    %0 = stablehlo.reduce(%arg0 init: %c) across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
     reducer(%a: tensor<f32>, %b: tensor<f32>)  {
      %9 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }
    %1:2 = stablehlo.while(%it = %arg0, %n = %arg1) : tensor<8xf32>, tensor<i32>
     cond {
      %9 = stablehlo.compare  LT, %n, %arg1 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      stablehlo.return %it, %n : tensor<8xf32>, tensor<i32> loc(fused["f.py":1:2, #loc2])
    }
    %2 = "all.reduce"(%1#0) <{c = [1, 2]}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      "all.return"(%p) : (tensor<f32>) -> ()
    }) {d} : (tensor<8xf32>) -> tensor<8xf32>
    %3 = call @f(%2) : (tensor<8xf32>) -> tensor<8xf32>
    return %3 : tensor<8xf32>
  }
}
#loc2 = loc("jit(f)/g"(#loc1))
{-#
  dialect_resources: { }
#-}
